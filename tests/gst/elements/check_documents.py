#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""dvpublish's documents about a video follow the schema: check_documents.py SCHEMA VIDEO."""
import collections
import json
import os
import subprocess
import sys
import tempfile

try:
    import jsonschema
except ImportError:
    print('skipped: there is no python3-jsonschema')
    sys.exit(77)

with open(sys.argv[1], encoding='utf-8') as file:
    validator = jsonschema.Draft202012Validator(json.load(file))
ZONES = ('{"lines":[{"name":"gate","points":[[0.5,1.0],[0.5,0.0]]}],'
         '"areas":[{"name":"all","points":[[0,0],[1,0],[1,1],[0,1]],"occupied":400,"distance-below":50}],'
         '"ground":{"points":[[0,0],[1,0],[1,1],[0,1]],"rectangle":[16,9]},"heat":{"period":1000},"distances":{"below":50}}')
with tempfile.NamedTemporaryFile() as out, tempfile.TemporaryDirectory() as clips:
    subprocess.run(['gst-launch-1.0', '-q', 'filesrc', f'location={sys.argv[2]}', '!', 'matroskademux', '!', 'tee', 'name=t',
                    '!', 'queue', '!', 'dvrecord', 'name=r', f'location={clips}', 'trigger=track,enter', 't.', '!', 'queue', '!', 'vp8dec',
                    '!', 'dvconvert', '!', 'dvinfer', '!', 'dvdecode', 'threshold=0.1', '!', 'dvtrack', '!',
                    'dvzones', 'zones=' + json.dumps(ZONES), '!', 'dvpublish', f'location={out.name}',
                    'mode=frames+events+tracks+clips+heat', 'snapshot=object', 'interval-ms=200', 'extra-fields=' + json.dumps('{"a":1}'),
                    'details=points+outlines+masks+texts+embeddings+numbers', '!', 'r.detections'], check=True, timeout=200)
    documents = [json.loads(line) for line in out.read().decode().splitlines()]
    clip = documents[-1]['clip']
    assert clip['state'] == 'ended' and clip['complete'] and os.path.getsize(clip['file']) == clip['bytes'], clip
    assert {event['kind'] for event in clip['events']} == {'track', 'enter'}, clip
    assert os.path.exists(documents[-1]['picture']['file'])
for document in documents:
    validator.validate(document)
assert [document['seq'] for document in documents] == list(range(len(documents)))
assert len({document['id'] for document in documents}) == len(documents)
kinds = collections.Counter(document['type'] for document in documents)
print(dict(kinds), sum('picture' in document for document in documents), 'pictures')
assert set(kinds) == {'frame', 'event', 'track', 'clip', 'heat'}, kinds
frames = [document for document in documents if document['type'] == 'frame']
assert any(frame.get('distances') for frame in frames)
assert any(frame['counts']['areas'][0]['occupied'] for frame in frames)
events = collections.Counter(document['event']['kind'] for document in documents if document['type'] == 'event')
assert events['occupied'] == 1 and events['too-close'] == events['too-close-end'] > 0, events
starts = sum(document['type'] == 'track' and document['track']['state'] == 'started' for document in documents)
assert 2 * starts == kinds['track'], 'each track starts and ends once'
broken = dict(documents[0], version=2)
assert not validator.is_valid(broken)
