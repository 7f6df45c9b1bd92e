-- tessera trace 1
local ts = require "tessera"
local b0 = sch:get_block{name = "C"}
local l1, l2, l3 = sch:get_loops{block = b0}
local v4, v5, v6 = sch:sample_perfect_tile{loop = l1, n = 3, max_innermost_factor = 64, decision = {4, 2, 8}}
local l7, l8, l9 = sch:split{loop = l1, factors = {ts.auto, v5, v6 * 1}, preserve_unit_iters = false}
sch:reorder{ordered_loops = {l7, l2, l8, l3, l9}}
local v10 = sch:sample_categorical{candidates = {0, -16, 512}, probs = {0.25, 0.5, 0.25}, decision = 1}
sch:annotate{block_or_loop = b0, ann_key = "pragma \"x\"\n\001", ann_val = {a = 1.5, ["end"] = {v10, "v0", true, -1e999}, k = ts.min((v10 - 3) // 2, v10 % 7)}}
sch:guard{var = v10, value = -16}
sch:enter_postproc()
