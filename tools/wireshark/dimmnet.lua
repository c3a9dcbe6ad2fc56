-- SPDX-License-Identifier: BSD-3-Clause
--
-- Wireshark dissector of DIMMnet-2 packets as DIMMNET_PCAP captures them (docs/tracing.md section 1):
-- link type USER0, a word about the packet, then the packet's lines, little endian.
--
--   wireshark -X lua_script:dimmnet.lua run.pcapng      or put it into ~/.local/lib/wireshark/plugins
--
-- Filters: dimmnet.type.name == "IPUSH", dimmnet.tag == 7, dimmnet.result != 0, dimmnet.head == "RTS",
-- dimmnet.src_rank == 0, dimmnet.conversation == 1, dimmnet.answers, dimmnet.resends ...
-- A table of conversations: Tools > DIMMnet-2 conversations, or
--
--   tshark -q -X lua_script:dimmnet.lua -X lua_script1:conversations -r all.pcapng

-- begin list dissector
local lists = {}
lists.primitives = {
  [0x00] = "NOP",
  [0x01] = "BOTF",
  [0x04] = "VL",
  [0x05] = "VLS",
  [0x06] = "VLI",
  [0x08] = "VS",
  [0x09] = "VSS",
  [0x0a] = "VSI",
  [0x10] = "RVL",
  [0x11] = "RVLS",
  [0x12] = "RVLI",
  [0x14] = "RVS",
  [0x15] = "RVSS",
  [0x16] = "RVSI",
  [0x18] = "IPUSH",
  [0x19] = "LHSv1",
  [0x1a] = "LHSv2",
  [0x1c] = "RESEND",
  [0x1d] = "FADD",
}
lists.results = {
  [0] = "delivered",
  [1] = "dropped",
  [2] = "to serve",
  [3] = "stalled",
  [4] = "stopped",
  [5] = "unreachable",
  [6] = "held",
  [7] = "refused",
  [8] = "no way",
  [9] = "answered",
  [10] = "on its way",
}
lists.heads = {
  [1] = "SYNC",
  [2] = "FIRST",
  [3] = "MORE",
  [4] = "RTS",
  [5] = "CTS",
  [6] = "ACK",
  [7] = "AM",
  [8] = "AM_RTS",
  [9] = "OFFER",
  [10] = "VERDICT",
  [11] = "PULL",
  [12] = "PULL_NONE",
  [13] = "TAKE",
  [14] = "RELEASE_ACK",
  [15] = "GRANT",
  [16] = "DONE",
  [17] = "RELEASE",
  [18] = "WITHDRAW",
  [19] = "WITHDRAWN",
  [20] = "PIECE",
}
lists.head_fields = {
  { "type", 0, 1, "type" },
  { "flags", 1, 1, "CTS: 1 staged, 2 split, 4 pushed, 8 was awaited; RTS: 1 a layout follows, 2 lent memory, 4 would push; AM_RTS: 1 must be staged; ACK: 1 by the kernel" },
  { "id", 2, 2, "handler of an active message; staged CTS: LLCM word; OFFER to PULL_NONE: number of the PULL" },
  { "rank", 4, 4, "sender's rank in the job; bit 31: a process of another job, and its number here (section 9)" },
  { "op", 8, 4, "operation, named by the process that started it; VERDICT: bits; PULL: mask" },
  { "arg", 12, 4, "RTS: address of the message, 0, or 1 (must be staged); CTS: address; AM: header bytes; OFFER: entries; PULL: mask; DONE: 1 if more are held; WITHDRAWN: 1 if it was there; PIECE: its number; ACK: ns" },
  { "length", 16, 8, "bytes of the whole message; CTS: bytes to send; PIECE: its bytes; PULL: envelope; GRANT: bytes" },
}
lists.words = {
  RQ = { title = "Request, Lower half; Command Ex uses OTYPE, DTYPE, Iteration and Size alone",
    { "RQ_OTYPE", 0, 5, "primitive" },
    { "RQ_DTYPE", 5, 3, "bytes of an element: 1 << DTYPE" },
    { "RQ_ITERATION", 8, 8, "elements of a strided or list access" },
    { "RQ_DWID", 16, 1, "WID at the far side" },
    { "RQ_DCLID", 18, 12, "CLID of the far side" },
    { "RQ_EFLAG", 30, 1, "1: the far side writes a receive status at the end" },
    { "RQ_SIZE", 32, 32, "Size in bytes; Stride; or List, the address of the list" },
  },
  RQ_BOTF = { title = "Request, Lower half of BOTF",
    { "RQ_BOTF_WW", 5, 2, "Write Window that holds the packet image" },
    { "RQ_BOTF_SIZE", 32, 11, "bytes of the image, header included; at least 16" },
    { "RQ_BOTF_ALONE", 43, 1, "1: no other message follows soon (X.3)" },
  },
  RQ_UPPER = { title = "Request, Upper half",
    { "RQ_SRC", 0, 32, "SRCOff: where the data are read" },
    { "RQ_DST", 32, 32, "DSTOff: where the data go" },
  },
  RQ_LHS = { title = "Request, Upper half of LHSv2; SRCOff as above",
    { "RQ_LHS_WW_SIZE", 32, 10, "bytes that come out of a Write Window first" },
    { "RQ_LHS_WW_OFFSET", 42, 12, "their offset in the Write Windows" },
  },
  PK = { title = "Packet header, 1st line",
    { "PK_SIZE", 0, 12, "Packet Size in bytes, header included; stamped by the NIC" },
    { "PK_TYPE", 12, 5, "primitive" },
    { "PK_PGID", 20, 8, "process group; stamped by the NIC" },
    { "PK_DWID", 28, 1, "destination WID" },
    { "PK_SWID", 30, 1, "source WID" },
    { "PK_DLID", 32, 16, "destination LID" },
    { "PK_DTYPE", 48, 3, "bytes of an element: 1 << DTYPE" },
    { "PK_ITERATION", 51, 8, "elements" },
    { "PK_RFLAG", 59, 1, "1: into the Prefetch Window instead of SO-DIMM" },
    { "PK_EFLAG", 60, 1, "1: last packet, and a receive status is wanted" },
    { "PK_HFLAG", 61, 1, "1: the header has more than two lines" },
    { "PK_LFLAG", 62, 1, "1: IPUSH: an entry in the LH Buffer; RVS: into LLCM" },
  },
  PK_ADDRESS = { title = "Packet header, 2nd line",
    { "PK_SRC", 0, 32, "RVL: SRCOff; RVS: DSTOff of the first packet" },
    { "PK_DST", 32, 32, "DSTOff of this packet; an aperture where bit 31 is set" },
  },
  PK_MORE = { title = "Packet header, 3rd line; the 4th line of RVL is Command Ex",
    { "PK_TOTAL", 0, 32, "bytes of the whole primitive" },
    { "PK_LIST", 32, 32, "Stride or List address; RVS to an aperture: bytes from DSTOff to this packet's" },
  },
  ST = { title = "Receive status, Lower half: source WID and CLID, bytes",
    { "ST_TYPE", 0, 5, "primitive" },
    { "ST_SWID", 16, 1, "source WID" },
    { "ST_SCLID", 18, 12, "source CLID" },
    { "ST_EFLAG", 30, 1, "1" },
    { "ST_SIZE", 32, 32, "bytes of the whole primitive" },
  },
  ST_UPPER = { title = "Receive status, Upper half",
    { "ST_ADDRESS", 0, 32, "first address that was written" },
  },
  LH = { title = "LH entry, line 0: the envelope, and the entry's flags",
    { "LH_TAG", 0, 32, "Tag" },
    { "LH_RANK", 32, 14, "Rank of the sender" },
    { "LH_COMPLETE", 46, 1, "turns when the packet's data are all there" },
    { "LH_VALID", 47, 1, "turns when the entry is filled: 1 in odd laps, 0 in even ones" },
    { "LH_CONTEXT", 48, 16, "Context of the communicator" },
  },
  LH_WHERE = { title = "LH entry, line 1",
    { "LH_SIZE", 0, 32, "bytes of the message behind the envelope" },
    { "LH_POINTER", 32, 32, "SO-DIMM address of what did not fit the entry, or 0" },
  },
  AMT = { title = "AMT entry in LLCM: an IPUSH ring",
    { "AMT_HEAD", 0, 32, "next byte the host will free" },
    { "AMT_TAIL", 32, 32, "next byte the NIC will fill" },
  },
  AMTI = { title = "AMT Address Table Interface",
    { "AMTI_VALUE", 0, 12, "index of the AMT entry in LLCM, in words of 8 bytes" },
    { "AMTI_WID", 12, 2, "sender's WID" },
    { "AMTI_LID", 14, 16, "sender's LID" },
  },
  CS = { title = "Controller Status; the WW0 bits repeat every 3 bits for Write Windows 1 to 3",
    { "CS_REQ_PENDING", 0, 1, "a kicked request still waits to enter the Request FIFO" },
    { "CS_SDIMM_READY", 1, 1, "the SO-DIMM is initialised" },
    { "CS_FIFO_AFULL", 2, 1, "the Request FIFO is almost full: do not issue" },
    { "CS_ST_FULL", 3, 1, "the status ring is full" },
    { "CS_ST_EMPTY", 4, 1, "the status ring is empty" },
    { "CS_WW0_DONE", 5, 1, "a store from this Write Window to SO-DIMM is complete" },
    { "CS_WW0_SRC_OVF", 6, 1, "it passed the end of the Write Window" },
    { "CS_WW0_DST_OVF", 7, 1, "it passed the end of the own SO-DIMM area" },
    { "CS_RC_OVF", 17, 1, "received data passed the end of their target; until Controller Reset" },
    { "CS_RC_STATE", 18, 2, "0 normal; 1 a packet was cut off; 2 hflag and header lines disagree; 3 illegal RVL" },
  },
  SMA = { title = "SMA LID",
    { "SMA_LID", 0, 16, "LID that the Subnet Manager has assigned" },
    { "SMA_STATE", 16, 2, "3: the switch interface can communicate" },
  },
  AP = { title = "Extension: an address that names an aperture",
    { "AP_OFFSET", 0, 24, "offset in the aperture, in units of 256 bytes" },
    { "AP_SLOT", 24, 7, "slot" },
    { "AP_FLAG", 31, 1, "1: an aperture; 0: SO-DIMM" },
  },
  APL = { title = "Extension: Aperture Length",
    { "APL_LENGTH", 0, 48, "bytes; 0 revokes" },
    { "APL_SLOT", 48, 15, "slot" },
  },
  FM = { title = "Extension: Flow Mode",
    { "FM_MODE", 0, 8, "0 stall, 1 stop, 2 paused, 3 hold, 4 retry" },
    { "FM_TABLE", 16, 16, "hold: LLCM address of the hold table" },
  },
  FLOW = { title = "Extension: entry of the flow ring",
    { "FLOW_LID", 0, 16, "LID of the other side" },
    { "FLOW_WID", 16, 1, "its WID" },
    { "FLOW_KIND", 20, 4, "1 STOPPED: that sender waits; 2 RESEND: that receiver grants; 3 HELD: that sender is held back" },
    { "FLOW_CREDITS", 24, 8, "RESEND: packets granted; 0: held no longer" },
    { "FLOW_SEQ", 32, 31, "count of entries, for tracing" },
    { "FLOW_VALID", 63, 1, "turns when the entry is filled" },
  },
  RS = { title = "Extension: second word of a RESEND packet, and of its entry of the flow ring",
    { "RS_CREDITS", 0, 8, "packets granted; 0: MORE" },
    { "RS_SHARED", 8, 1, "1: others wait as well; ask for more after these packets" },
    { "RS_MORE", 9, 1, "1: of a sender, which has used its credits and has more to send" },
    { "RS_NEED", 32, 32, "MORE: ring bytes of its next packet" },
  },
  CAP = { title = "Extension: what a capture file puts before a packet",
    { "CAP_VERSION", 0, 8, "1" },
    { "CAP_RESULT", 8, 4, "what became of the packet" },
    { "CAP_LINES", 12, 3, "lines of the header" },
    { "CAP_REPLY", 15, 1, "1: answers an RVL" },
    { "CAP_SLID", 16, 16, "source LID, which travels beside the packet" },
    { "CAP_SRANK", 32, 16, "1 + rank of the source in its job; 0: not known" },
    { "CAP_DRANK", 48, 16, "1 + rank of the destination, likewise" },
  },
}
-- end list dissector

local proto = Proto("dimmnet", "DIMMnet-2")

local HEADED = 2 ^ 31 -- bit of the Tag: a head stands before the data (docs/protocol.md 3)

-- Values that have names.
local names = {
  PK_TYPE = lists.primitives,
  RQ_OTYPE = lists.primitives,
  CAP_RESULT = lists.results,
}
-- Filters by the names people use.
local filters = {
  PK_TYPE = "type", PK_SIZE = "size", PK_PGID = "pgid", PK_DLID = "dlid", PK_DWID = "dwid",
  PK_SWID = "swid", PK_LFLAG = "lflag", PK_EFLAG = "eflag", PK_HFLAG = "hflag", PK_RFLAG = "rflag",
  CAP_SLID = "slid", CAP_RESULT = "result", CAP_REPLY = "reply",
  LH_TAG = "tag", LH_RANK = "rank", LH_CONTEXT = "context",
}

local fields = {}

local function make_field(name, title)
  local filter = "dimmnet." .. (filters[name] or name:lower())
  fields[name] = ProtoField.uint32(filter, name, base.DEC, nil, nil, title)
  if names[name] then
    -- A text beside the number, so that a filter can use either.
    fields[name .. "_name"] = ProtoField.string(filter .. ".name", name)
  end
end

for _, word in ipairs({ "CAP", "PK", "PK_ADDRESS", "PK_MORE", "RQ", "LH" }) do
  for _, f in ipairs(lists.words[word]) do
    make_field(f[1], f[4])
  end
end
for _, f in ipairs(lists.head_fields) do
  local make = f[3] == 8 and ProtoField.uint64 or ProtoField.uint32
  fields["head_" .. f[1]] = make("dimmnet.head." .. f[1], f[1], base.DEC, nil, nil, f[4])
end
fields.head = ProtoField.string("dimmnet.head", "Head")
fields.headed = ProtoField.bool("dimmnet.headed", "a head stands before the data")
fields.data = ProtoField.bytes("dimmnet.data", "Data")
fields.data_bytes = ProtoField.uint32("dimmnet.data_bytes", "Data bytes")

fields.src_rank = ProtoField.uint32("dimmnet.src_rank", "Rank that sends")
fields.dst_rank = ProtoField.uint32("dimmnet.dst_rank", "Rank that receives")
fields.conversation = ProtoField.uint32("dimmnet.conversation", "Conversation", base.DEC, nil, nil,
                                        "number of this pair of processes, in the order of their first packets")
fields.answers = ProtoField.framenum("dimmnet.answers", "Answers the packet in", base.NONE, frametype.REQUEST)
fields.answered_in = ProtoField.framenum("dimmnet.answered_in", "Answered in", base.NONE, frametype.RESPONSE)
fields.answer_time = ProtoField.double("dimmnet.answer_time", "Seconds since what it answers")
fields.resends = ProtoField.framenum("dimmnet.resends", "Sends again the packet in")
fields.resent_in = ProtoField.framenum("dimmnet.resent_in", "Sent again in")

-- What a person is to look at.
local experts = {
  stopped = ProtoExpert.new("dimmnet.expert.stopped", "The receiver had no room: the sender is stopped",
                            expert.group.SEQUENCE, expert.severity.WARN),
  resent = ProtoExpert.new("dimmnet.expert.resent", "Sent again after a stop", expert.group.SEQUENCE,
                           expert.severity.NOTE),
  lost = ProtoExpert.new("dimmnet.expert.lost", "The packet has not reached its receiver", expert.group.SEQUENCE,
                         expert.severity.ERROR),
}
local expert_of = { stopped = experts.stopped, held = experts.stopped, stalled = experts.stopped,
                    dropped = experts.lost, unreachable = experts.lost, refused = experts.lost,
                    ["no way"] = experts.lost }
proto.experts = { experts.stopped, experts.resent, experts.lost }

local list = {}
for _, f in pairs(fields) do
  list[#list + 1] = f
end
proto.fields = list

-- A field's value and the bytes that hold it; no field crosses the middle of its word.
local function value_of(word, f)
  local shift, width = f[2], f[3]
  local half = word(math.floor(shift / 32) * 4, 4):le_uint()
  local first = math.floor(shift / 8)
  local value = math.floor(half / 2 ^ (shift % 32)) % 2 ^ width
  return value, word(first, math.floor((shift + width - 1) / 8) - first + 1)
end

-- Adds a word's fields to the tree, with what `instead` says in the place of their own values; returns
-- the values of the word by name.
local function add_word(tree, name, word, title, instead)
  local values = {}
  local branch = tree:add(word, title or lists.words[name].title)
  for _, f in ipairs(lists.words[name]) do
    local value, bytes = value_of(word, f)
    local known = names[f[1]]
    values[f[1]] = value
    value = instead and instead[f[1]] or value
    local item = branch:add(fields[f[1]], bytes, value)
    if known then
      local text = known[value] or "unknown"
      item:append_text(" (" .. text .. ")")
      branch:add(fields[f[1] .. "_name"], bytes, text):set_hidden()
    end
  end
  return values, branch
end

-- ---- what belongs together ----
--
-- Noted when a packet is seen for the first time, by the number of its frame; a packet that answers or sends again is
-- behind what it refers to, but for the replies to an RVL, which the emulator may hand over before it.

local seen -- all of it; made anew for each file

function proto.init()
  seen = {
    conversations = {}, -- by pair of processes
    list = {}, -- the same, in order
    open = {}, -- frames that wait for an answer, by what the answer will say
    early = {}, -- replies that came before their RVL
    stopped = {}, -- frames that will be sent again, by their bytes
    of = {}, -- by frame: conversation, answers, answered_in, resends, resent_in
    time = {}, -- of frames
  }
end

-- What a head answers, and what will answer it: a word that both have in common.  An operation is named by the process
-- that started it, a PULL by its number.
local asks = { SYNC = "op", RTS = "op", AM_RTS = "op", PULL = "pull", OFFER = "offer", RELEASE = "release", GRANT = "grant" }
local answers = { CTS = "op", ACK = "op", PULL_NONE = "pull", VERDICT = "offer", RELEASE_ACK = "release", DONE = "grant" }

local function name_of(kind, from, to, number)
  return table.concat({ kind, from, to, number }, " ")
end

local function number_of(kind, head)
  return kind == "op" and head.op or (kind == "pull" or kind == "offer") and head.id or 0
end

local function link_answer(asked, answer)
  seen.of[answer].answers = asked
  seen.of[asked].answered_in = seen.of[asked].answered_in or answer
end

-- p: frame, time, from, to (processes, as text), kind of packet, head, bytes that tell it from others, result.
local function note_packet(p)
  local of = {}
  local pair = p.from < p.to and p.from .. " " .. p.to or p.to .. " " .. p.from
  local c = seen.conversations[pair]
  if not c then
    c = { number = #seen.list, from = p.from, packets = 0, bytes = 0, packets_back = 0, bytes_back = 0, stopped = 0 }
    seen.conversations[pair] = c
    seen.list[#seen.list + 1] = c
  end
  local back = p.from == c.from and "" or "_back"
  c.a, c.b = back == "" and p.a or p.b, back == "" and p.b or p.a -- a rank is known once its process has told it
  c["packets" .. back] = c["packets" .. back] + 1
  c["bytes" .. back] = c["bytes" .. back] + p.bytes
  of.conversation = c.number
  seen.of[p.frame], seen.time[p.frame] = of, p.time

  local before = seen.stopped[p.key]
  if before then
    of.resends, seen.of[before].resent_in = before, p.frame
    seen.stopped[p.key] = nil
  end
  if p.result == "stopped" or p.result == "held" then
    c.stopped = c.stopped + 1
    seen.stopped[p.key] = p.frame
    return -- it has not arrived: nothing answers it
  end
  if p.head then
    local kind = answers[p.head.name]
    local asked = kind and seen.open[name_of(kind, p.to, p.from, number_of(kind, p.head))]
    if p.head.name == "OFFER" and p.head.id > 0 then
      asked = seen.open[name_of("pull", p.to, p.from, p.head.id)]
    end
    if asked then
      link_answer(asked, p.frame)
    end
    kind = asks[p.head.name]
    if kind then
      seen.open[name_of(kind, p.from, p.to, number_of(kind, p.head))] = p.frame
    end
  elseif p.reply then
    local name = name_of("read", p.to, p.from, "")
    if seen.open[name] then
      link_answer(seen.open[name], p.frame)
      if p.last then
        seen.open[name] = nil
      end
    else
      seen.early[name] = seen.early[name] or {}
      table.insert(seen.early[name], p.frame)
    end
  elseif p.reads then
    local name = name_of("read", p.from, p.to, "")
    for _, frame in ipairs(seen.early[name] or {}) do
      link_answer(p.frame, frame)
    end
    if not seen.early[name] then
      seen.open[name] = p.frame
    end
    seen.early[name] = nil
  end
end

local function add_links(tree, p)
  local of = seen.of[p.frame]
  if not of then
    return
  end
  tree:add(fields.conversation, of.conversation):set_generated()
  for _, name in ipairs({ "answers", "answered_in", "resends", "resent_in" }) do
    if of[name] then
      tree:add(fields[name], of[name]):set_generated()
    end
  end
  if of.answers then
    tree:add(fields.answer_time, p.time - seen.time[of.answers]):set_generated()
  end
  if expert_of[p.result] then
    tree:add_proto_expert_info(expert_of[p.result])
  end
  if of.resends then
    tree:add_proto_expert_info(experts.resent)
  end
end

local function conversations()
  local lines = { string.format("%5s  %-12s %-12s %10s %12s %10s %12s %8s", "", "one", "other", "packets", "bytes", "back", "bytes back",
                                "stopped") }
  for _, c in ipairs(seen and seen.list or {}) do
    lines[#lines + 1] = string.format("%5d  %-12s %-12s %10d %12d %10d %12d %8d", c.number, c.a, c.b, c.packets, c.bytes, c.packets_back,
                                      c.bytes_back, c.stopped)
  end
  return table.concat(lines, "\n")
end

-- Heads that stand behind the envelope of a message; that of the others says nothing.
local with_envelope = { SYNC = true, FIRST = true, RTS = true }
-- Those of pieces, whose data begin behind the 48 bytes that an entry has.
local of_piece = { FIRST = true, MORE = true, PIECE = true }

-- Adds a head; returns what the Info column says of it, its parts, and where the data behind begin.
local function add_head(tree, data)
  local kind = data(0, 1):uint()
  local text = lists.heads[kind] or string.format("head of type %d", kind)
  local branch = tree:add(fields.head, data(0, 24), text)
  for _, f in ipairs(lists.head_fields) do
    branch:add_le(fields["head_" .. f[1]], data(f[2], f[3]))
  end
  return string.format("%s op %d length %s", text, data(8, 4):le_uint(),
                       tostring(data(16, 8):le_uint64())),
    { name = text, id = data(2, 2):le_uint(), op = data(8, 4):le_uint() },
    of_piece[text] and 48 or 24
end

-- An IPUSH packet with lflag: the envelope, a head, data.  Returns the Info text, the data behind, the head.
local function add_message(tree, data)
  local envelope = data(0, 8)
  local word = envelope(0, 4):le_uint()
  local headed, tag = word >= HEADED, word % HEADED
  local kind = headed and data:len() >= 32 and lists.heads[data(8, 1):uint()]
  if kind and not with_envelope[kind] then
    tree:add(envelope, "Envelope: of no message")
    local text, head, behind = add_head(tree, data(8))
    return string.format("%s of process %d", text, data(12, 4):le_uint()), 8 + behind, head
  end
  local values, branch = add_word(tree, "LH", envelope, "Envelope", { LH_TAG = tag })
  local info = string.format("context %d rank %d tag %d", values.LH_CONTEXT, values.LH_RANK, tag)
  branch:add(fields.headed, envelope(3, 1), headed)
  if not headed then
    return info, 8
  end
  if data:len() < 32 then
    return info .. ", head cut off", 8
  end
  local text, head, behind = add_head(tree, data(8))
  return info .. ", " .. text, 8 + behind, head
end

local function add_header(tree, packet, lines)
  local h, branch = add_word(tree, "PK", packet(0, 8))
  local second = lines > 1 and add_word(tree, "PK_ADDRESS", packet(8, 8)) or {}
  if lines > 2 then
    add_word(tree, "PK_MORE", packet(16, 8))
  end
  if lines > 3 then
    add_word(tree, "RQ", packet(24, 8))
  end
  return h, second, branch
end

function proto.dissector(buffer, pinfo, root)
  if buffer:len() < 16 then
    return 0
  end
  local word = buffer(0, 8)
  local lines = math.floor(word:range(0, 4):le_uint() / 2 ^ 12) % 8
  if buffer:len() < 8 + 8 * lines or lines < 1 then
    return 0
  end
  local tree = root:add(proto, buffer())
  local cap = add_word(tree, "CAP", word, "Beside the packet")
  local h, second = add_header(tree, buffer(8), lines)
  local from = 8 + 8 * lines
  local bytes = buffer:reported_len() - from
  local type_name = lists.primitives[h.PK_TYPE] or string.format("type 0x%02x", h.PK_TYPE)
  local info = type_name

  tree:add(fields.data_bytes, buffer(0, 0), bytes):set_generated()
  pinfo.cols.protocol = "DIMMnet-2"
  local p = { frame = pinfo.number, time = tonumber(tostring(pinfo.abs_ts)), bytes = buffer:reported_len() - 8,
              result = lists.results[cap.CAP_RESULT] or "?", reply = cap.CAP_REPLY == 1, last = h.PK_EFLAG == 1,
              reads = math.floor(h.PK_TYPE / 4) == 4 }
  p.from, p.to = string.format("%d:%d", cap.CAP_SLID, h.PK_SWID), string.format("%d:%d", h.PK_DLID, h.PK_DWID)
  p.a = cap.CAP_SRANK > 0 and string.format("rank %d", cap.CAP_SRANK - 1) or p.from
  p.b = cap.CAP_DRANK > 0 and string.format("rank %d", cap.CAP_DRANK - 1) or p.to
  p.key = p.from .. " " .. buffer(8, math.min(buffer:len() - 8, 72)):bytes():tohex()
  for name, rank in pairs({ src_rank = cap.CAP_SRANK, dst_rank = cap.CAP_DRANK }) do
    if rank > 0 then
      tree:add(fields[name], rank - 1):set_generated()
    end
  end
  pinfo.cols.src = p.a
  pinfo.cols.dst = p.b
  if math.floor(h.PK_TYPE / 4) == 6 and h.PK_LFLAG == 1 and buffer:len() >= from + 8 then
    local text, used, head = add_message(tree, buffer(from))
    p.head = head
    info = info .. " " .. text
    from = from + used
    bytes = bytes - used
  elseif second.PK_DST then
    info = info .. string.format(" to 0x%x", second.PK_DST)
  end
  if buffer:len() > from then
    tree:add(fields.data, buffer(from))
  end
  info = info .. string.format(", %d bytes", bytes)
  if cap.CAP_RESULT ~= 0 then
    info = info .. ", " .. (lists.results[cap.CAP_RESULT] or "?")
  end
  if not pinfo.visited then
    note_packet(p)
  end
  add_links(tree, p)
  pinfo.cols.info = info
  return buffer:len()
end

DissectorTable.get("wtap_encap"):add(wtap.USER0, proto)

if gui_enabled() then
  register_menu("DIMMnet-2 conversations", function()
    TextWindow.new("DIMMnet-2 conversations"):set(conversations())
  end, MENU_TOOLS_UNSORTED)
elseif ... == "conversations" then
  local tap = Listener.new("frame")
  function tap.draw()
    print(conversations())
  end
end
