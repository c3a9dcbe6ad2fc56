#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# benchmarks/incast and benchmarks/memory on a small scale: they end, and their files have an object for each mode
# or number of ranks with the promised fields.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
prefix=$(dirname "$(dirname "$(command -v mpicc)")")
out=$DNET_TEST_DIR/incast
"$here/../../benchmarks/incast" "$prefix" --senders 2 --modes stop,limit --messages 4000 --pause-us 100 \
    --rounds 1 --repeats 1 --json "$out.json" >"$out.txt"
"$here/../../benchmarks/memory" "dimmnet=$prefix" "other=$out.is-not-there" --ranks 2,3 --json "$out-memory.json" \
    >"$out.txt" 2>"$out.err"
grep 'other: no .*left out' "$out.err"
python3 - "$out" <<'END'
import json
import sys

rows = {row["mode"]: row for row in json.load(open(sys.argv[1] + ".json"))}
assert set(rows) == {"stop", "limit"}, rows
for row in rows.values():
    for field in ("senders", "goodput_mb_s", "bystander_ms", "bystander_loss_percent", "buffer_bytes", "stop",
                  "resend", "episode_us"):
        assert field in row, f"no {field} in {row}"
assert rows["limit"]["resend"] == 0 and rows["limit"]["limit_events"] > 0, rows["limit"]
memory = json.load(open(sys.argv[1] + "-memory.json"))
assert [row["ranks"] for row in memory] == [2, 3], memory
for row in memory:
    assert 100000 < row["bytes_per_process"] < 1 << 30, row
END
