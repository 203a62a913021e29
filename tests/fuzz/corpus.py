#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A target's corpus is one archive, corpus/TARGET.zip; targets need a folder.

  corpus.py unpack ARCHIVE FOLDER   replaces FOLDER; without the archive it is empty
  corpus.py pack FOLDER ARCHIVE     the same files give the same bytes"""
import os
import shutil
import sys
import zipfile


def unpack(archive, folder):
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    if os.path.exists(archive):
        with zipfile.ZipFile(archive) as file:
            file.extractall(folder)
    print('%d inputs' % len(os.listdir(folder)))


def pack(folder, archive):
    with zipfile.ZipFile(archive, 'w', zipfile.ZIP_DEFLATED, compresslevel=9) as file:
        for name in sorted(os.listdir(folder)):
            with open(os.path.join(folder, name), 'rb') as source:
                # ZipInfo's default time is constant, in 1980.
                file.writestr(zipfile.ZipInfo(name), source.read(), zipfile.ZIP_DEFLATED)


def main():
    actions = {'unpack': unpack, 'pack': pack}
    if len(sys.argv) != 4 or sys.argv[1] not in actions:
        sys.exit(__doc__)
    actions[sys.argv[1]](*sys.argv[2:])


if __name__ == '__main__':
    main()
