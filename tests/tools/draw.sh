#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# dnet-subnet draw: meshes and tori on their grid, trees in layers, many links as a matrix; titles inside the picture,
# a port at each end of a link, loads, cuts, a legend.
. "$DNET_SRC/tests/tools/lib.sh"

expect 2 dnet-subnet draw
says 'want --cluster'
expect 2 dnet-subnet draw --topology ring:5 --cluster "$cluster"
says 'want --cluster'
expect 2 dnet-subnet draw --topology ring:5 --load --engine none
expect 1 dnet-subnet draw --cluster "$cluster"
says "no cluster $cluster"
expect 3 dnet-subnet draw --topology ring:5 --output nowhere/x.svg
says 'nowhere/x.svg'
[ ! -e /dev/full ] || expect 3 dnet-subnet draw --topology ring:5 --output /dev/full

# drawn EXPRESSION OPTION...: of the picture: `at` of switches by name, `ports` and `links` (stroke, dashed),
# `cells` of a matrix, `legend`, all text.
drawn() {
    expression=$1
    shift
    expect 0 dnet-subnet draw "$@" --output picture.svg
    python3 - "$expression" <<'P' || fail "$*: not so: $expression"
import re, sys
import xml.etree.ElementTree as tree
svg = tree.parse("picture.svg").getroot()
ns = "{http://www.w3.org/2000/svg}"
width, height = float(svg.get("width")), float(svg.get("height"))
at, cells, links, legend = {}, [], [], ""
for r in svg.iter(ns + "rect"):
    x, y, title = r.get("x"), r.get("y"), r.find(ns + "title")
    if title is not None and ": " in title.text and " port " not in title.text:
        at[title.text.split(":")[0]] = (float(x) + float(r.get("width")) / 2, float(y) + float(r.get("height")) / 2)
    elif title is not None:
        cells.append((r.get("fill"), title.text))
for p in svg.iter(ns + "path"):
    if p.find(ns + "title") is not None:
        links.append((p.get("stroke"), p.get("stroke-dasharray") is not None, p.find(ns + "title").text))
ports = [t.text for t in svg.iter(ns + "text") if (t.get("class") or "").startswith("port")]
legend = " ".join(t.text for g in svg.iter(ns + "g") if g.get("id") == "legend" for t in g.iter(ns + "text"))
text = [t.text for t in svg.iter(ns + "text")]
for t in svg.iter(ns + "text"): # what is not turned fits, with 6.3 pixels a letter and 8 of the title
    if "rotate" not in (t.get("transform") or ""):
        x, size = float(t.get("x")), {"title": 8, "port": 5, "port halo": 5}.get(t.get("class"), 6.3)
        assert t.get("text-anchor") or x + len(t.text) * size <= width + 8 and 0 <= float(t.get("y")) <= height, t.text
assert all(0 <= x <= width and 0 <= y <= height for x, y in at.values()), at
columns, rows = sorted({round(x) for x, _ in at.values()}), sorted({round(y) for _, y in at.values()})
assert eval("(" + sys.argv[1] + ")"), (at, links, ports, legend)
P
}
name='"S%05d" %'
drawn "len(columns) == 4 and len(rows) == 3 and all(at[$name (1 + i)] < at[$name (2 + i)] for i in (0, 1, 2, 4, 8))" \
    --topology mesh:4x3:1
drawn "len(columns) == len(rows) == 4 and len(at) == 16 and len(links) == 32 and len(ports) == 64" --topology torus:4x4
drawn "len(links) == 81 and len(ports) == 162 and at[$name 1][0] < at[$name 10][0] and at[$name 1][1] > at[$name 10][1]" \
    --topology torus:3x3x3
drawn "len(rows) == 2 and at['spine0001'][1] < at['leaf0001'][1] and 'H00003' in text" --topology leaf-spine:4:2:2
drawn "len(rows) == 3 and len(columns) >= 8 and len(ports) == 2 * 32 + 16" --topology fat-tree:3:4
drawn "len(rows) > 2 and len(columns) > 2 and len(links) == 5 and len(ports) == 10" --topology ring:5:1
# A matrix: every link, the switches by name, and what is cut is red.
drawn "len(cells) == 1584 and not links and 'leaf0088: 14 servers' in text and 'spine0018' in text" --topology tsubame
drawn "[t for c, t in cells if c == 'white'] == ['leaf0003 port 4 - spine0004 port 3, out of service'] and
    'leaf0003: 1 of 16 cut' in text" --topology tsubame --cut leaf0003:4 --cut leaf0003:20

# A link, a server and a switch that are cut; loads, more of them where a cut sends them.
drawn "[d for _, d, _ in links] == [False] * 8 and 'out of service' not in legend" --topology leaf-spine:4:2:2
drawn "[t for s, d, t in links if d and s == '#d62728'] == ['leaf0002 port 1 - spine0001 port 2, out of service'] and
    'out of service' in legend" --topology leaf-spine:4:2:2 --cut leaf0002:1
drawn "'line-through' in open('picture.svg').read()" --topology leaf-spine:4:2:2 --cut leaf0003:4
drawn "sum(d for _, d, _ in links) == 4 and '1 of 1 cut' in text" --topology torus:4x4 --cut S00006
drawn "len({s for s, d, t in links if not d}) > 1 and 'load of a link, 0 to 1.71 of' in legend and
    all('of what a server sends, back' in t for _, _, t in links)" --topology leaf-spine:4:2:2 --load --cut leaf0002:1
drawn "len({s for s, d, t in links}) == 1" --topology leaf-spine:4:2:2 --load
# The one in docs/dsh.md is what it says.
command=$(sed -n 's/^    dnet-subnet \(draw .*\) --output .*/\1/p' "$DNET_SRC/docs/dsh.md")
# shellcheck disable=SC2086
expect 0 dnet-subnet $command --output picture.svg
cmp picture.svg "$DNET_SRC/docs/network.svg" || fail 'docs/network.svg is not what docs/dsh.md draws'
# Names that are no XML.
expect 0 dnet-subnet gen --topology ring:3:1 --output ring.net
sed 's/S00001/a<b\&c/' ring.net >odd.net
drawn "'a<b&c' in text" --topology odd.net

# A cluster: what its links have carried, which run below their rate, which are cut.
expect 0 dnet-cluster up --topology leaf-spine:3:1:2 --profile extended "$cluster"
expect 0 dnet-cluster degrade --cluster "$cluster" leaf0003:1 --width 1x
expect 0 dnet-cluster path --cluster "$cluster" 1 2
used=$(sed -n 's/^\(leaf0001\) port \([0-9]*\) -> .*/\1 port \2/p' out)
expect 0 dsh --cluster "$cluster" --node 1 -c 'rllcm_write 2 0 1'
drawn "[t for s, d, t in links if 'MB, back' in t and not ', 0 MB, back 0' in t and t.startswith('$used')] and
    [t for s, d, t in links if s == '#ff7f0e' and 'leaf0003 port 1' in t and '1x QDR' in t] and
    'below its full rate' in legend" --cluster "$cluster" --load
