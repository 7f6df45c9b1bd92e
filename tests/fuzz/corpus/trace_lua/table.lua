-- tessera trace 1
local rv = {}
local b0 = sch:get_block{name = "root"}
rv[200], rv[201] = sch:get_child_blocks{block_or_loop = b0}
do local x = {sch:get_child_blocks{block_or_loop = b0}} for i = 1, 60 do rv[299 + i] = x[i] end end
rv[400] = sch:get_loops{block = rv[200]}
sch:parallel{loop = rv[400]}
