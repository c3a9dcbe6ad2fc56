#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# DIMMNET_PCAP with an MPI program: tshark and the dissector find in the merged capture the
# envelopes that were sent (context, rank, tag), their primitives, and each answer behind what it
# answers.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
program=$DNET_TEST_DIR/capture
for tool in tshark mergecap; do
    command -v $tool >/dev/null || { echo "$tool is missing (Debian: tshark)"; exit 77; }
done
mpicc -O2 -I"$here" "$here/capture.c" -o "$program"
cd "$DNET_TEST_DIR"
rm -f pcap-[01].pcapng
DIMMNET_PCAP=$DNET_TEST_DIR/pcap-%r.pcapng timeout 30 mpirun -n 2 "$program"
mergecap -w pcap.pcapng pcap-0.pcapng pcap-1.pcapng
decode() {
    tshark -X lua_script:"$DNET_SRC/tools/wireshark/dimmnet.lua" -r pcap.pcapng -Y "$1" -T fields \
        -E separator=, -E occurrence=l -e dimmnet.swid -e dimmnet.type.name -e dimmnet.rank -e dimmnet.tag \
        -e dimmnet.head 2>pcap.tshark.log
}
decode 'dimmnet.tag >= 1001 && dimmnet.tag <= 1005' >pcap.found
cat >pcap.expected <<END
0,IPUSH,0,1001,
0,IPUSH,0,1002,
0,IPUSH,0,1003,SYNC
0,IPUSH,0,1004,RTS
1,IPUSH,1,1005,
END
diff pcap.expected pcap.found || { echo "pcap.sh: the envelopes of the capture are not those sent" >&2; exit 1; }

# One communicator, so one context, and not the one of MPI_COMM_WORLD's barrier.
contexts=$(tshark -X lua_script:"$DNET_SRC/tools/wireshark/dimmnet.lua" -r pcap.pcapng \
    -Y 'dimmnet.tag >= 1001 && dimmnet.tag <= 1005' -T fields -e dimmnet.context 2>>pcap.tshark.log | sort -u)
case $contexts in
0 | *[!0-9]* | '') echo "pcap.sh: contexts of the messages: $contexts" >&2; exit 1 ;;
esac

# Behind the request the answer, and behind that the data, whichever side moves them.
decode 'dimmnet.head || (dimmnet.type.name == "RVS" && dimmnet.lflag == 0)' |
    awk -F, '{ print $2, $5 }' | sed -n '/RTS/,$p' | uniq >pcap.order
head -n 2 pcap.order >pcap.found
printf 'IPUSH RTS\nIPUSH CTS\n' | diff - pcap.found || {
    echo "pcap.sh: RTS and CTS are not in order" >&2
    exit 1
}
bytes=$(tshark -X lua_script:"$DNET_SRC/tools/wireshark/dimmnet.lua" -r pcap.pcapng \
    -Y 'dimmnet.type.name == "RVS" && dimmnet.lflag == 0' -T fields -e dimmnet.data_bytes 2>>pcap.tshark.log |
    awk '{ n += $1 } END { print n + 0 }')
[ "$bytes" -ge 200000 ] || { echo "pcap.sh: RVS packets hold $bytes bytes of a message of 200000" >&2; exit 1; }
echo "pcap.sh: 5 messages, $bytes bytes by RVS, context $contexts"
