#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Each message that docs/user-guide.md explains is one that the sources print; each option it names is one.
. "$DNET_SRC/tests/tools/lib.sh"
python3 - "$DNET_SRC" <<'P' || fail "docs/user-guide.md"
import os, re, sys
src = sys.argv[1]
texts, options = "", set(re.findall(r'"(DIMMNET_\w+)"', open(src + "/src/common/options.def").read()))
for top in ("src", "emulator", "mpich/patches"):
    for folder, _, names in os.walk(os.path.join(src, top)):
        for name in names:
            text = open(os.path.join(folder, name), encoding="utf-8", errors="replace").read()
            if name.endswith(".patch"):
                text = re.sub(r"^\+", "", text, flags=re.M)
            if name.endswith((".c", ".h", ".def", ".patch")):
                text = re.sub(r'"\s*PRI\w+\s*"|"\s*\n?\s*"', "", text)  # one string of several
                texts += "\n".join(re.findall(r'"(?:[^"\\\n]|\\.)*"', text)) + "\n"
            elif name == "errnames.txt":
                texts += text
guide = open(src + "/docs/user-guide.md").read()
index = guide[guide.index("### Messages"):]
rows = re.findall(r"^\| (`.*?) \|", index, re.M)
shown = [code for row in rows for code in re.findall(r"`([^`]+)`", row)]
parts = [part.strip(" ()") for code in shown for part in code.split("...")]
wrong = [part for part in parts if part and part not in texts]
wrong += [name for name in re.findall(r"DIMMNET_[A-Z_]+[A-Z]", guide) if name not in options | {"DIMMNET_LOG"}]
for line in wrong:
    print("not in the sources: " + line)
sys.exit(bool(wrong) or len(shown) < 25)
P
