#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# dsh at a terminal: prompt, editing, history, completion, end of input.
. "$DNET_SRC/tests/tools/lib.sh"
expect 0 dnet-cluster up "$cluster"
cat >drive.py <<'P'
import os, pty, select, sys, time
pid, fd = pty.fork()
if pid == 0:
    os.environ["TERM"] = "vt100"
    os.execvp("dsh", ["dsh", "--cluster", sys.argv[1]])
seen = b""
def until(text):
    global seen
    end = time.time() + 20
    while text not in seen:
        ready = select.select([fd], [], [], max(0, end - time.time()))[0]
        if not ready:
            sys.exit("no %r in %r" % (text, seen))
        try:
            seen += os.read(fd, 4096)
        except OSError:
            sys.exit("ended without %r: %r" % (text, seen))
    seen = seen[seen.index(text) + len(text):]
until(b"dsh > ")
os.write(fd, b"w\x7fv\n")                   # backspace
until(b"released by Yomi")
os.write(fd, b"nosuch\n")
until(b"no command 'nosuch'")
os.write(fd, b"\x10\x10\n")                  # two lines up in history
until(b"released by Yomi")
os.write(fd, b"module\x01ureg_read \x05_state\n")  # start of line, end of line
until(b"P_BOTF_WAIT")
os.write(fd, b"evp\t0 16\n")                 # completion
until(b"#4216c000: ")
os.write(fd, b"x" * 300 + b"\n")
until(b"no command 'xxx")
until(b"dsh > ")                             # at the prompt: before it, the terminal would take the next byte itself
os.write(fd, b"\x04")                        # end of input
try:
    while os.read(fd, 4096):
        pass
except OSError:
    pass
sys.exit(0 if os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 1 else "exit status")
P
python3 drive.py "$cluster" || exit 1
