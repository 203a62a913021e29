#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""pipelines/archive: the segments together equal the whole, even if tasks are killed, and also with Slurm.

    test_archive.py DVARCHIVE CLIP

Exits with 77 if Python's bindings are not installed; the parts with Slurm skip if it cannot be started.
"""
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time

from checks import run_checks

try:
    import gi
    gi.require_version("Gst", "1.0")
    gi.require_version("GstPbutils", "1.0")
    gi.require_version("GstDvnn", "1.0")
except (ImportError, AttributeError, ValueError) as missing:
    print("skipped: %s" % missing)
    sys.exit(77)

DVARCHIVE, CLIP = sys.argv[1:]


def run(*arguments, fails=False, **more):
    done = subprocess.run([sys.executable, DVARCHIVE, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, check=False, timeout=280, env=dict(os.environ, **more))
    assert (done.returncode != 0) == fails, (arguments, done.stdout, done.stderr)
    return done.stderr if fails else done.stdout


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


def merged(folder):
    return read(folder, os.path.basename(CLIP) + ".jsonl")


def check_that_segments_are_together_what_the_whole_is(folder):
    whole, parts = os.path.join(folder, "whole"), os.path.join(folder, "parts")
    run("plan", whole, CLIP, "--segment", "100")
    run("local", whole, "--workers", "1")
    lines = [json.loads(line) for line in merged(whole).splitlines()]
    assert len(lines) == 100
    assert [line["time"]["stream_time"] for line in lines] == [40000000 * i for i in range(100)]
    assert sum(len(line["objects"]) for line in lines) > 200
    # Also with segments that begin between two frames.
    for length in ("1", "0.73"):
        shutil.rmtree(parts, ignore_errors=True)
        run("plan", parts, CLIP, "--segment", length)
        run("local", parts)
        assert merged(parts) == merged(whole), length


def check_that_what_is_done_is_not_done_again(folder):
    assert run("plan", folder, CLIP, "--segment", "1") == "1 videos, 4 segments\n"
    assert "4 of 4 segments are missing: 0-3" in run("merge", folder, fails=True)
    # As Kubernetes and Slurm name a task.
    assert "segment 2: 25 frames" in run("segment", folder, JOB_COMPLETION_INDEX="2")
    assert "segment 0: 25 frames" in run("segment", folder, SLURM_ARRAY_TASK_ID="0")
    assert "2 of 4 segments are done; missing: 1,3" in run("status", folder)
    assert "segment 2 is done" in run("segment", folder, "2")
    before = os.stat(os.path.join(folder, "segments", "000002.jsonl")).st_mtime_ns
    told = run("local", folder)
    assert "segment 1: 25 frames" in told and "segment 2" not in told
    assert os.stat(os.path.join(folder, "segments", "000002.jsonl")).st_mtime_ns == before
    first = merged(folder)
    run("merge", folder)
    assert merged(folder) == first
    run("plan", folder, CLIP, "--segment", "1")
    assert "has another plan" in run("plan", folder, CLIP, "--segment", "2", fails=True)


def check_that_whoever_is_killed_leaves_nothing_half_done(folder):
    run("plan", folder, CLIP, "--segment", "2")
    for after in (0.3, 0.6, 0.9):
        victim = subprocess.Popen([sys.executable, DVARCHIVE, "segment", folder, "0"], stdout=subprocess.DEVNULL)
        time.sleep(after)
        if victim.poll() is None:
            victim.send_signal(signal.SIGKILL)
        victim.wait()
        if os.path.exists(os.path.join(folder, "segments", "000000.jsonl")):
            break
    run("local", folder)
    assert len(merged(folder).splitlines()) == 100
    assert len(read(folder, "segments", "000000.jsonl").splitlines()) == 50


def check_that_tracks_have_numbers_of_their_own(folder):
    run("plan", folder, CLIP, "--segment", "1", "--elements",
        "dvconvert ! dvinfer ! dvdecode threshold=0.1 ! dvtrack")
    run("local", folder)
    tracks = []
    for begin in range(0, 100, 25):
        lines = merged(folder).splitlines()[begin:begin + 25]
        tracks.append({found["track_id"] for line in lines for found in json.loads(line)["objects"]
                       if "track_id" in found})
    assert all(tracks), tracks
    for earlier, later in zip(tracks, tracks[1:]):
        assert max(earlier) < min(later), tracks


def check_that_mistakes_are_named(folder):
    assert "has no plan" in run("segment", folder, "0", fails=True)
    assert "nothing.mp4" in run("plan", folder, "/nothing.mp4", fails=True)
    run("plan", folder, CLIP, "--elements", "dvconvert ! nothing")
    assert 'no element "nothing"' in run("segment", folder, "0", fails=True)
    assert "there is no segment 1, but 0 to 0" in run("segment", folder, "1", fails=True)
    assert "which segment?" in run("segment", folder, fails=True)
    assert "segments failed: 0" in run("local", folder, fails=True)
    assert "more than 100000 segments" in run("plan", os.path.join(folder, "p"), CLIP, "--segment", "1e-9", fails=True)
    for length in ("inf", "nan", "0"):
        told = run("plan", os.path.join(folder, "p"), CLIP, "--segment", length, fails=True)
        assert "--segment %s must be a number of seconds" % length in told, told
    name = os.path.join(folder.encode(), b"not-\xff.webm")
    os.symlink(CLIP, name)
    assert "cannot stand in a plan, which is UTF-8" in run("plan", os.path.join(folder, "p"), name, fails=True)
    assert "which segment?" in run("segment", folder, fails=True, SLURM_ARRAY_TASK_ID="x")
    pipe = os.path.join(folder, "\x1b[31mpipe.mp4")
    os.mkfifo(pipe)
    told = run("plan", os.path.join(folder, "p"), pipe, fails=True)
    assert "?[31mpipe.mp4': it is not a regular file" in told and "\x1b" not in told, told


def check_that_wrong_plans_and_torn_segments_are_named(folder):
    run("plan", folder, CLIP, "--segment", "2")
    good = json.loads(read(folder, "plan.json"))
    plan, segments = os.path.join(folder, "plan.json"), good["segments"]
    wrongs = ((5, "'version' must be 1"), (dict(good, elements=[1]), "'elements' must be a text"),
              (dict(good, elements="\ud800"), "half of a pair of surrogates"),
              (dict(good, segments={}), "'segments' must be a list of 1 to 100000"),
              (dict(good, segments=segments * 60000), "'segments' must be a list of 1 to 100000"),
              (dict(good, segments=[5]), "segment 0 has no 'video'"),
              (dict(good, segments=[dict(segments[0], video="/..")]), "segment 0 has no 'video'"),
              (dict(good, segments=segments + [dict(segments[0], video="/other/" + os.path.basename(CLIP))]),
               "two videos have the name 'codes.webm'"),
              (dict(good, segments=segments + [dict(segments[0], begin="1")]), "'begin' of segment 2"),
              (dict(good, segments=[dict(segments[0], end=-1)]), "'end' of segment 0"))
    commands = ("segment", "merge", "status", "local", "submit")
    # All of them read the first; one reader serves them, so each of the others meets one of them in turn.
    for number, (wrong, message) in enumerate(wrongs):
        with open(plan, "w", encoding="utf-8") as file:
            json.dump(wrong, file)
        for command in commands if number == 0 else (commands[number % len(commands)],):
            told = run(command, folder, *(["0"] if command == "segment" else []), fails=True)
            assert message in told and "Traceback" not in told, (message, told)
    with open(plan, "w", encoding="utf-8") as file:
        json.dump(good, file)
    run("local", folder)
    segment = os.path.join(folder, "segments", "000001.jsonl")
    whole = read(segment)
    lines = whole.splitlines(keepends=True)
    for torn in (whole[:-1], whole[:-20], lines[0] + "5\n", lines[0] + '{"objects":5}\n', '{"objects":[1]}\n',
                 '{"objects":[{"track_id":"x"}]}\n', '{"objects":[{"track_id":-1}]}\n',
                 lines[0] + '{"objects":[{"track_id":%s}]}\n' % ("9" * 4300), "[" * 5000 + "\n", '{"objects":[],"a":NaN}\n'):
        with open(segment, "w", encoding="utf-8") as file:
            file.write(torn)
        told = run("merge", folder, fails=True)
        assert "000001.jsonl', line %d: " % torn.count("\n") in told or torn == whole[:-1] or torn == whole[:-20], told
        assert "remove the file" in told and "Traceback" not in told, told
    os.unlink(segment)
    os.mkfifo(segment)  # a pipe is not a finished segment
    assert "missing: 1" in run("status", folder)
    os.unlink(segment)
    with open(segment, "w", encoding="utf-8") as file:
        file.write(whole)
    run("merge", folder)


PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "sinfo")


def why_no_slurm():
    """Returns the reason why it cannot be started, or None."""
    path = os.environ["PATH"] + ":/usr/sbin:/sbin"
    absent = [name for name in PROGRAMS if not shutil.which(name, path=path)]
    if absent:
        return "%s are not installed (Debian: slurm-wlm, munge)" % ", ".join(absent)
    return None if os.geteuid() == 0 else "slurmd needs root"


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for s in sockets:
        s.bind(("127.0.0.1", 0))
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


class Slurm:
    """Slurm on one machine, in a folder of its own: munged, slurmctld and slurmd, started and stopped."""

    def __init__(self, folder, cpus):
        self.folder = folder
        self.processes = []
        os.environ["PATH"] += ":/usr/sbin:/sbin"
        self.environment = dict(os.environ, SLURM_CONF=self.path("slurm.conf"))
        host = socket.gethostname().split(".")[0]
        control, daemon = free_ports(2)
        for name in ("state", "spool"):
            os.mkdir(self.path(name))
        with open(self.path("munge.key"), "wb") as file:
            file.write(os.urandom(128))
        os.chmod(self.path("munge.key"), 0o600)
        os.chmod(folder, 0o755)
        with open(self.path("slurm.conf"), "w", encoding="utf-8") as file:
            file.write("""
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={control}
SlurmdPort={daemon}
SlurmUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=batch_sched_delay=0,sched_min_interval=100000
ReturnToService=2
MinJobAge=300
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} State=UNKNOWN
PartitionName=all Nodes={host} Default=YES State=UP MaxTime=INFINITE
""".format(host=host, control=control, daemon=daemon, folder=folder, cpus=cpus))
        with open(self.path("cgroup.conf"), "w", encoding="utf-8") as file:
            file.write("CgroupAutomount=no\n")
        self.start("munged", "--foreground", "--force", "--socket=" + self.path("munge.socket"),
                   "--key-file=" + self.path("munge.key"), "--pid-file=" + self.path("munged.pid"),
                   "--seed-file=" + self.path("munged.seed"), "--num-threads=2")
        self.wait_for(lambda: os.path.exists(self.path("munge.socket")), "munged")
        self.start("slurmctld", "-D", "-c", "-i")
        self.start("slurmd", "-D", "-N", host)
        self.wait_for(lambda: "idle" in self.ask("sinfo", "--noheader", "--format=%T"), "an idle node")

    def path(self, name):
        return os.path.join(self.folder, name)

    def start(self, name, *arguments):
        with open(self.path(name + ".log"), "w", encoding="utf-8") as log:
            self.processes.append(subprocess.Popen([name, *arguments], env=self.environment, stdout=log, stderr=log))

    def ask(self, *command):
        return subprocess.run(command, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              text=True, check=False).stdout

    def wait_for(self, is_so, what, seconds=60):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if is_so():
                return
            time.sleep(0.1)
        logs = ""
        for name in ("munged", "slurmctld", "slurmd"):
            if os.path.exists(self.path(name + ".log")):
                with open(self.path(name + ".log"), encoding="utf-8") as file:
                    logs += "%s:\n%s\n" % (name, file.read()[-1500:])
        raise AssertionError("no %s\n%s" % (what, logs))

    def wait_for_jobs(self, seconds=200):
        self.wait_for(lambda: not self.ask("squeue", "--noheader").strip(), "end of the jobs", seconds)

    def stop(self):
        for process in reversed(self.processes):
            process.terminate()
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def check_that_slurm_gets_names_as_they_are(folder):
    home = os.path.join(folder, "100%j %A")
    os.mkdir(home)
    run("plan", home, CLIP, "--segment", "100")
    told = os.path.join(folder, "told")
    program = os.path.join(folder, "sbatch")
    with open(program, "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\nprintf '%s\\n' \"$@\" >> '" + told + "'\necho 7\n")
    os.chmod(program, 0o755)
    run("submit", home, PATH=folder + ":" + os.environ["PATH"])
    outputs = [line for line in read(told).splitlines() if line.startswith("--output=")]
    assert outputs == ["--output=%s/100%%%%j %%%%A/logs/%s.log" % (folder, name) for name in ("%A_%a", "%j")], outputs


def check_that_slurm_does_all_of_it(folder):
    reason = why_no_slurm()
    if reason:
        print("skipped: %s" % reason)
        return
    work, own = os.path.join(folder, "work"), os.path.join(folder, "slurm")
    os.mkdir(own)
    cluster = Slurm(own, 2)
    more = {"SLURM_CONF": cluster.environment["SLURM_CONF"]}
    try:
        run("plan", work, CLIP, "--segment", "1")
        run("segment", work, "1")  # one segment is finished before
        told = run("submit", work, "--cpus-per-task=1", **more)
        assert told.startswith("3 segments: job "), told
        cluster.wait_for_jobs()
        logs = {name: read(work, "logs", name) for name in os.listdir(os.path.join(work, "logs"))}
        assert len(logs) == 4, logs
        assert len(merged(work).splitlines()) == 100, logs
        # Nothing is left to do but the merge.
        os.unlink(os.path.join(work, os.path.basename(CLIP) + ".jsonl"))
        assert run("submit", work, **more).startswith("merge: job ")
        cluster.wait_for_jobs()
        assert len(merged(work).splitlines()) == 100
    finally:
        cluster.stop()


if __name__ == "__main__":
    run_checks(globals())
