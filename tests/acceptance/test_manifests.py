#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""systemd and Kubernetes accept the files that pipelines/ has for them.

    test_manifests.py PIPELINES_FOLDER

systemd's own systemd-analyze checks the unit. The Jobs are checked against the API's reference (batch/v1): name and type
of each field that they use, and the rules between fields. Exits with 77 if neither can be checked.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

try:
    import yaml
except ImportError:
    yaml = None

FOLDER = sys.argv[1]
NAME = r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$"
QUANTITY = r"[0-9]+(\.[0-9]+)?(m|k|M|G|T|Ki|Mi|Gi|Ti)?$"


def text(pattern=".+$"):
    return lambda value: isinstance(value, str) and re.match(pattern, value) is not None


def number(value):
    return type(value) is int and value >= 0


def flag(value):
    return type(value) is bool


def one_of(*values):
    return lambda value: value in values


# A field is a check, an object of fields, or a list of one of these. Other fields are refused.
SECURITY = {"runAsNonRoot": flag, "runAsUser": number, "seccompProfile": {"type": one_of("RuntimeDefault")}}
CONTAINER = {
    "name": text(NAME), "image": text(), "command": [text()],
    "env": [{"name": text(r"[A-Za-z_][A-Za-z0-9_]*$"), "value": text()}],
    "resources": {"requests": {"cpu": text(QUANTITY), "memory": text(QUANTITY)},
                  "limits": {"cpu": text(QUANTITY), "memory": text(QUANTITY)}},
    "securityContext": {"allowPrivilegeEscalation": flag, "readOnlyRootFilesystem": flag,
                        "capabilities": {"drop": [text()]}},
    "volumeMounts": [{"name": text(NAME), "mountPath": text("/[^:]+$"), "readOnly": flag}],
}
JOB = {
    "apiVersion": one_of("batch/v1"), "kind": one_of("Job"), "metadata": {"name": text(NAME)},
    "spec": {
        "completionMode": one_of("Indexed", "NonIndexed"), "completions": number, "parallelism": number,
        "backoffLimit": number, "backoffLimitPerIndex": number, "maxFailedIndexes": number,
        "template": {"spec": {
            "restartPolicy": one_of("Never", "OnFailure"), "automountServiceAccountToken": flag,
            "securityContext": SECURITY, "containers": [CONTAINER],
            "volumes": [{"name": text(NAME), "persistentVolumeClaim": {"claimName": text(NAME)}, "emptyDir": {}}],
        }},
    },
}


def check(value, form, where):
    if callable(form):
        assert form(value), "%s is %r" % (where, value)
    elif isinstance(form, list):
        assert isinstance(value, list) and value, "%s is no list" % where
        for i, item in enumerate(value):
            check(item, form[0], "%s[%d]" % (where, i))
    else:
        assert isinstance(value, dict), "%s is no object" % where
        for name, item in value.items():
            assert name in form, "%s has no field %r" % (where, name)
            check(item, form[name], where + "." + name)


def check_rules(job):
    spec, pod = job["spec"], job["spec"]["template"]["spec"]
    if "backoffLimitPerIndex" in spec:
        assert spec["completionMode"] == "Indexed" and pod["restartPolicy"] == "Never"
    if "maxFailedIndexes" in spec:
        assert "backoffLimitPerIndex" in spec and spec["maxFailedIndexes"] <= spec["completions"]
    if spec.get("completionMode") == "Indexed":
        assert spec["completions"] > 0
    volumes = [volume["name"] for volume in pod["volumes"]]
    assert len(set(volumes)) == len(volumes)
    for volume in pod["volumes"]:
        assert len(volume) == 2, "a volume has one source: %s" % volume
    for container in pod["containers"]:
        assert {mount["name"] for mount in container["volumeMounts"]} <= set(volumes)


def check_jobs():
    with open(os.path.join(FOLDER, "archive", "kubernetes.yaml"), encoding="utf-8") as file:
        jobs = list(yaml.safe_load_all(file))
    assert len({job["metadata"]["name"] for job in jobs}) == len(jobs) == 2
    folders = set()
    for job in jobs:
        check(job, JOB, job["metadata"]["name"])
        check_rules(job)
        for container in job["spec"]["template"]["spec"]["containers"]:
            program, command, folder = container["command"]
            assert program == "dvarchive"
            # The program has that command, and the folder and its contents are of a volume.
            subprocess.run([sys.executable, os.path.join(FOLDER, "archive", "dvarchive"), command, "--help"],
                           stdout=subprocess.DEVNULL, check=True)
            assert any(folder.startswith(mount["mountPath"] + "/") for mount in container["volumeMounts"])
            folders.add(folder)
    assert len(folders) == 1, folders
    print("the Jobs are good")


def check_unit(folder):
    # The program that the unit starts must exist.
    program = os.path.join(FOLDER, "camera", "dvcamera")
    with open(os.path.join(FOLDER, "camera", "dvcamera@.service"), encoding="utf-8") as file:
        unit = file.read()
    assert "/usr/local/lib/gst-dvnn/dvcamera" in unit
    path = os.path.join(folder, "dvcamera@.service")

    def verify(content):
        with open(path, "w", encoding="utf-8") as file:
            file.write(content.replace("/usr/local/lib/gst-dvnn/dvcamera", program))
        done = subprocess.run(["systemd-analyze", "verify", "--man=no", os.path.join(folder, "dvcamera@door.service")],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        return done.returncode, [line for line in done.stdout.splitlines() if "dvcamera" in line]

    status, told = verify(unit)
    assert status == 0 and not told, told
    # systemd-analyze does report mistakes.
    assert verify(unit.replace("WatchdogSec=30", "WatchdogSec=soon"))[1]
    assert verify(unit.replace("NoNewPrivileges=yes", "NoNewPrivilege=yes"))[1]
    print("the unit is good")


def main():
    looked = False
    if yaml:
        check_jobs()
        looked = True
    else:
        print("skipped: the Jobs need python3-yaml")
    if shutil.which("systemd-analyze"):
        with tempfile.TemporaryDirectory() as folder:
            check_unit(folder)
        looked = True
    else:
        print("skipped: the unit needs systemd-analyze")
    return 0 if looked else 77


if __name__ == "__main__":
    sys.exit(main())
