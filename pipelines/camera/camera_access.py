# SPDX-License-Identifier: Apache-2.0
"""Who may change a camera by its page: a password's hash, sessions of browsers, and how often a password may be tried. This
file belongs beside dvcamera."""
import base64
import collections
import hashlib
import hmac
import ipaddress
import re
import secrets
import threading
import time

FORM = r"^scrypt\$[0-9]{1,2}\$[A-Za-z0-9+/]{22}==\$[A-Za-z0-9+/]{43}=$"  # logarithm of the cost, salt, hash
COST = 15                   # 2^15 steps in 32 MiB: about a tenth of a second
MOST_COST = 18
LEAST_LETTERS = 8           # of a password
MOST_LETTERS = 200
SESSION_SECONDS = 12 * 3600
MOST_SESSIONS = 16          # the oldest ends for a new one
FREE_ATTEMPTS = 5           # wrong passwords from a place, after which it has to wait
LONGEST_WAIT = 60           # seconds
MOST_PLACES = 1000


def derived(password, salt, cost):
    return hashlib.scrypt(password.encode(), salt=salt, n=1 << cost, r=8, p=1, maxmem=2 << (cost + 10), dklen=32)


def hash_of(password):
    """Returns what camera.json keeps of a password. Raises ValueError if it is too short or too long."""
    if not LEAST_LETTERS <= len(password) <= MOST_LETTERS:
        raise ValueError("a password has %d to %d characters" % (LEAST_LETTERS, MOST_LETTERS))
    salt = secrets.token_bytes(16)
    parts = (salt, derived(password, salt, COST))
    return "$".join(["scrypt", str(COST), *(base64.b64encode(part).decode() for part in parts)])


def is_password(password, kept):
    """Whether it is the password of which `kept` is the hash. Takes as long for any that is not."""
    if not re.fullmatch(FORM, kept) or len(password) > MOST_LETTERS:
        return False
    _, cost, salt, wanted = kept.split("$")
    if not 1 <= int(cost) <= MOST_COST:
        return False
    return hmac.compare_digest(derived(password, base64.b64decode(salt), int(cost)), base64.b64decode(wanted))


def place_of(address):
    """Returns the part of a client's address that stands for a place: of IPv6 the network, which one machine has whole."""
    try:
        ip = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    ip = getattr(ip, "ipv4_mapped", None) or ip
    return str(ip) if ip.version == 4 else str(ipaddress.ip_network((ip, 64), strict=False))


class Attempts:
    """Wrong passwords by place: the wait doubles with each beyond the free ones."""

    def __init__(self, clock=time.monotonic):
        self.clock = clock
        self.wrong = collections.OrderedDict()  # place: number, and the time before which no other may be tried

    def wait(self, place):
        """Returns the seconds until a password may be tried; 0: now."""
        return max(0.0, self.wrong.get(place, (0, 0.0))[1] - self.clock())

    def failed(self, place):
        count = self.wrong.pop(place, (0, 0.0))[0] + 1
        wait = min(LONGEST_WAIT, 2 ** min(count - FREE_ATTEMPTS, 10)) if count >= FREE_ATTEMPTS else 0
        self.wrong[place] = (count, self.clock() + wait)
        while len(self.wrong) > MOST_PLACES:
            self.wrong.popitem(last=False)

    def succeeded(self, place):
        self.wrong.pop(place, None)


class Access:
    """Sessions of browsers that have given the password. `kept` returns the hash as it is now: another password ends the
    sessions of the one before."""

    def __init__(self, kept, clock=time.monotonic):
        self.kept = kept
        self.clock = clock
        self.lock = threading.Lock()
        self.trying = threading.Semaphore(1)  # a hash takes memory and a core
        self.attempts = Attempts(clock)
        self.sessions = collections.OrderedDict()  # hash of the cookie's value: the password's hash, and the end

    @staticmethod
    def key_of(cookie):
        return hashlib.sha256(cookie.encode()).digest()

    def log_in(self, password, address):
        """Returns the value of a new session's cookie, or None, and how many seconds the next attempt must wait."""
        place, kept = place_of(address), self.kept()
        if not kept:
            return None, 0
        with self.lock:
            wait = self.attempts.wait(place)
        if wait or not self.trying.acquire(blocking=False):
            return None, wait or 1
        try:
            right = is_password(password, kept)
        finally:
            self.trying.release()
        with self.lock:
            if not right:
                self.attempts.failed(place)
                return None, self.attempts.wait(place)
            self.attempts.succeeded(place)
            cookie = secrets.token_urlsafe(32)
            self.sessions[self.key_of(cookie)] = (kept, self.clock() + SESSION_SECONDS)
            while len(self.sessions) > MOST_SESSIONS:
                self.sessions.popitem(last=False)
            return cookie, 0

    def is_session(self, cookie):
        kept = self.kept()
        with self.lock:
            session = self.sessions.get(self.key_of(cookie)) if cookie else None
            if not session:
                return False
            if session[0] != kept or session[1] < self.clock():
                del self.sessions[self.key_of(cookie)]
                return False
            return True

    def log_out(self, cookie):
        with self.lock:
            self.sessions.pop(self.key_of(cookie), None)

    def token(self, cookie):
        """Returns what a page of this server sends with what it changes: other pages cannot read it."""
        return hmac.new(cookie.encode(), b"dvcamera page", hashlib.sha256).hexdigest()

    def is_token(self, cookie, token):
        return hmac.compare_digest(self.token(cookie).encode(), token.encode("utf-8", "replace"))


def ask_password(stream):
    """Asks for a new password: twice at a terminal, else the stream's first line. Returns its hash; raises ValueError."""
    if not stream.isatty():
        return hash_of(stream.readline(MOST_LETTERS + 2).rstrip("\r\n"))
    import getpass
    password = getpass.getpass("New password: ")
    if getpass.getpass("Again: ") != password:
        raise ValueError("the two passwords differ")
    return hash_of(password)
