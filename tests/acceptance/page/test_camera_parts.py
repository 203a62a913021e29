#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Parts of a camera's page by themselves, with a moved clock and seeded texts: passwords and sessions, changed values in JSON that
people wrote, written files, and parts of files.

    test_camera_parts.py DVCAMERA

DVNN_TEST_ROUNDS and DVNN_TEST_SEED are as in share.py. Exits with 77 if Python's bindings of GStreamer are not installed."""
import json
import os
import random
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, ".."), os.path.join(HERE, "..", "..")]
from checks import run_checks  # noqa: E402
from share import share_of  # noqa: E402

sys.path[:0] = [os.path.dirname(sys.argv[1]), os.path.dirname(os.path.dirname(sys.argv[1]))]
try:
    import camera_access
    import camera_clips
    import camera_texts
except (ImportError, AttributeError, ValueError) as missing:
    print("skipped: %s" % missing)
    sys.exit(77)
import untrusted  # noqa: E402

SEED = int(os.environ.get("DVNN_TEST_SEED", random.randrange(1 << 30)))
WORDS = ("", "a", "door", "\u6771\u4eac", "\"", "\\", "}", "{\"a\": [", "a:b", ",", "\u202e", "/*")


def access(clock, password="correct horse"):
    camera_access.COST = 4  # a test is not to take long, and the cost is part of the hash
    kept = [camera_access.hash_of(password)]
    return camera_access.Access(lambda: kept[0], lambda: clock[0]), kept


def check_that_wrong_passwords_have_to_wait_longer_each_time(_folder):
    clock = [0.0]
    gate, _ = access(clock)
    waits = []
    for _ in range(14):
        cookie, wait = gate.log_in("wrong", "192.0.2.7")
        assert cookie is None
        waits.append(wait)
        assert not wait or gate.log_in("correct horse", "192.0.2.7")[0] is None, "the right password is tried before its time"
        clock[0] += wait
    assert waits == [0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 60, 60, 60, 60], waits
    # Another place need not wait; of IPv6 a network is a place.
    assert gate.log_in("correct horse", "192.0.2.8")[0]
    for last in range(8):
        gate.log_in("wrong", "2001:db8::%d" % last)
    assert gate.log_in("correct horse", "2001:db8::99")[0] is None and gate.log_in("correct horse", "2001:db8:0:1::1")[0]
    assert camera_access.place_of("::ffff:192.0.2.7") == "192.0.2.7" and camera_access.place_of("fe80::1%eth0") == "fe80::/64"
    assert gate.log_in("correct horse", "192.0.2.7")[0], "after the wait the right one is taken"
    for number in range(2000):
        gate.attempts.failed("place %d" % number)
    assert len(gate.attempts.wrong) == camera_access.MOST_PLACES


def check_that_sessions_end_and_have_a_bound(_folder):
    clock = [0.0]
    gate, kept = access(clock)
    first = gate.log_in("correct horse", "a")[0]
    assert gate.is_session(first) and not gate.is_session("") and not gate.is_session(first + "x")
    assert gate.is_token(first, gate.token(first)) and not gate.is_token(first, gate.token(first + "x")) and not gate.is_token(first, "\ud800")
    clock[0] += camera_access.SESSION_SECONDS + 1
    assert not gate.is_session(first)
    cookies = [gate.log_in("correct horse", "a")[0] for _ in range(camera_access.MOST_SESSIONS + 1)]
    assert [gate.is_session(cookie) for cookie in cookies] == [False] + [True] * camera_access.MOST_SESSIONS
    gate.log_out(cookies[-1])
    assert not gate.is_session(cookies[-1]) and gate.is_session(cookies[-2])
    kept[0] = camera_access.hash_of("another horse")
    assert not gate.is_session(cookies[-2])
    kept[0] = ""  # no password: nobody
    assert gate.log_in("", "a")[0] is None and not gate.is_session(cookies[-3])


def check_that_only_the_password_fits_its_hash(_folder):
    camera_access.COST = 4
    kept = camera_access.hash_of("correct horse")
    assert "horse" not in kept and kept != camera_access.hash_of("correct horse"), "there is no salt"
    assert camera_access.is_password("correct horse", kept)
    for wrong in ("", "correct hors", "correct horse ", "Correct horse", "x" * 100000):
        assert not camera_access.is_password(wrong, kept), wrong
    for odd in ("", "scrypt", kept[:-1], kept + "=", kept.replace("$4$", "$99$"), kept.replace("$4$", "$0$"), "scrypt$4$$"):
        assert not camera_access.is_password("correct horse", odd), odd
    for short in ("", "1234567", "x" * 201):
        try:
            camera_access.hash_of(short)
            raise AssertionError(short)
        except ValueError:
            pass


def value_of(chance, depth=0):
    kind = chance.randrange(8 if depth < 3 else 5)
    if kind < 5:
        return (None, chance.random() < 0.5, chance.randrange(-9, 99), chance.random() * 10, chance.choice(WORDS))[kind]
    if kind == 5:
        return [value_of(chance, depth + 1) for _ in range(chance.randrange(4))]
    return {name: value_of(chance, depth + 1) for name in chance.sample(WORDS, chance.randrange(5))}


def places_of(value, place=()):
    yield place
    for name, one in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places_of(one, (*place, name))


def set_at(value, place, new):
    if not place:
        return new
    inner = value[place[0]] if isinstance(value, list) or place[0] in value else {}
    value[place[0]] = set_at(inner, place[1:], new)
    return value


def text_of(chance, value):
    """JSON as somebody may have written it."""
    text = json.dumps(value, indent=chance.choice((None, None, 1, 2, "\t")), ensure_ascii=chance.random() < 0.5)
    return "%s%s%s" % (chance.choice(("", " \n")), text, chance.choice(("", "\n")))


def check_that_one_value_changes_and_the_rest_of_the_text_stays(_folder):
    chance = random.Random(SEED)
    for _ in share_of(range(3000)):
        value = {"first": value_of(chance), "second": value_of(chance)}
        text, new = text_of(chance, value), value_of(chance)
        place = chance.choice([place for place in places_of(value) if place])
        changed = camera_texts.with_value(text, place, new)
        assert json.loads(changed) == set_at(json.loads(text), place, new), (SEED, text, place, new, changed)
        begin, end = camera_texts.span_of(text, place)
        assert changed.startswith(text[:begin]) and changed.endswith(text[end:]), (SEED, text, place, changed)
        # A new member of an object that is there.
        objects = [place for place in places_of(value) if isinstance(at(value, place), dict)]
        place = (*chance.choice(objects), "new")
        changed = camera_texts.with_value(text, place, new)
        assert json.loads(changed) == set_at(json.loads(text), place, new), (SEED, text, place, new, changed)


def at(value, place):
    for name in place:
        value = value[name]
    return value


def check_that_a_property_in_a_text_changes_alone(_folder):
    for entry, piece, name, value, wanted in (
            ("dvdecode threshold=0.1", 0, "threshold", "0.25", "dvdecode threshold=0.25"),
            ("dvconvert ! dvinfer ! dvdecode  threshold=0.1 labels=\"a ! b\" ! dvtrack", 2, "labels", "c d",
             "dvconvert ! dvinfer ! dvdecode  threshold=0.1 labels=\"c d\" ! dvtrack"),
            ("dvconvert ! dvdecode ! dvtrack", 1, "labels", "a\"\\", "dvconvert ! dvdecode labels=\"a\\\"\\\\\" ! dvtrack"),
            ("dvdecode labels=\"threshold=0.1\" threshold=0.2", 0, "threshold", "0.3", "dvdecode labels=\"threshold=0.1\" threshold=0.3"),
            ("dvdecode labels=a labels=b", 0, "labels", "", "dvdecode labels=a labels=\"\"")):
        assert camera_texts.with_property(entry, piece, name, value) == wanted, camera_texts.with_property(entry, piece, name, value)


def check_that_a_written_file_is_whole_and_keeps_its_mode(folder):
    path, link = os.path.join(folder, "camera.json"), os.path.join(folder, "link.json")
    untrusted.write_text(path, "one")
    os.chmod(path, 0o640)
    os.symlink(path, link)
    untrusted.write_text(link, "two")
    assert untrusted.read_text(path, 9) == "two" and os.path.islink(link) and os.stat(path).st_mode & 0o777 == 0o640
    os.mkfifo(os.path.join(folder, "pipe"))
    for where in (os.path.join(folder, "pipe"), folder, os.path.join(folder, "none", "x")):
        try:
            untrusted.write_text(where, "three")
            raise AssertionError(where)
        except OSError:
            pass
    assert sorted(os.listdir(folder)) == ["camera.json", "link.json", "pipe"], os.listdir(folder)


def check_that_parts_of_files_have_bounds(_folder):
    most = camera_clips.MOST_RANGE
    assert camera_clips.part_of("bytes=0-", 10 * most) == (0, most)
    assert camera_clips.part_of("bytes=7-%d" % (5 * most), 10 * most) == (7, 7 + most)
    assert camera_clips.part_of("bytes=-5", 3) == (0, 3) and camera_clips.part_of(None, 3) is None
    for wrong in ("bytes=3-", "bytes=-0", "bytes=3-9"):
        try:
            camera_clips.part_of(wrong, 3)
            raise AssertionError(wrong)
        except ValueError:
            pass


if __name__ == "__main__":
    print("seed %d" % SEED)
    run_checks(globals())
