# SPDX-License-Identifier: Apache-2.0
"""Slurm on one machine, in a folder of its own: munged, slurmctld and slurmd, started and stopped."""
import os
import shutil
import socket
import subprocess
import time

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "sinfo")


def why_not():
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
