#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""dvnet with a decoder in a user's library: convert keeps its name, inspect and run find it again.

    check_decoder_library.py DVNET NETWORK HOSTILE_LIBRARY CELLS_LIBRARY
"""
import json
import os
import subprocess
import sys
import tempfile


def run(*command, path=None, works=True):
    env = dict(os.environ)
    env.pop("DVNN_DECODER_PATH", None)
    if path:
        env["DVNN_DECODER_PATH"] = path
    result = subprocess.run(command, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert (result.returncode == 0) == works, (command, result.stdout, result.stderr)
    return result.stdout if works else result.stderr


def main():
    dvnet, network, wild, cells = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        made, picture = os.path.join(folder, "made.dvn"), os.path.join(folder, "black.ppm")
        with open(picture, "wb") as file:
            file.write(b"P6\n64 48\n255\n" + bytes(64 * 48 * 3))

        # The library's error at conversion is passed on: a file that nothing can decode is not
        # written.
        words = run(dvnet, "convert", network, "--decoder", "cells", "--decoder-params", '{"reach": -1}',
                    "--decoder-library", cells, "-o", made, works=False)
        assert "decoder 'cells': reach must be a positive number" in words and not os.path.exists(made), words
        words = run(dvnet, "convert", network, "--decoder-library", wild, "-o", made, works=False)
        assert "goes with --decoder" in words, words

        run(dvnet, "convert", network, "--decoder", "wild", "--decoder-library", wild, "-o", made)
        params = json.loads(run(dvnet, "inspect", "--json", made, "--decoder-library", wild))["decoder"]["params"]
        assert params["library"] == os.path.basename(wild), params
        assert len(params["image"]) == 2, params

        # The file names the library; the user names its folder.
        words = run(dvnet, "inspect", made, works=False)
        assert "in none of these folders" in words and "DVNN_DECODER_PATH" in words, words
        table = run(dvnet, "inspect", made, path=os.path.dirname(wild))
        assert f"wild of library {os.path.basename(wild)}" in table, table
        for command, where in (([dvnet, "run", "--json", "-d", "soft", made, picture], os.path.dirname(wild)),
                               ([dvnet, "run", "--json", "-d", "soft", "--decoder-library", wild, made, picture], None)):
            found = json.loads(run(*command, path=where))["detections"]
            assert len(found) == 1 and found[0]["conf"] == 1, found
    return 0


if __name__ == "__main__":
    sys.exit(main())
