-- tessera trace 1
local ts = require "tessera"
local b0 = sch:get_block{name = "C"}
local l1, l2, l3 = sch:get_loops{block = b0}
local v4, v5 = sch:sample_perfect_tile{loop = l1, n = 2, decision = {8, 4}}
local l6, l7 = sch:split{loop = l1, factors = {v4, v5}}
sch:knob{name = "tile i", value = {v4, v5}}
sch:knob{name = "twice", value = v4 * 2}
sch:knob{name = "form", value = {order = {2, 1}, packed = true, word = "a\nb"}}
