local block = sch:get_block 'C';
local i, j, _ = sch:get_loops(block)
local t, u = sch:sample_perfect_tile(i, 2, { decision = {8, 8} })
local which = sch:sample_categorical({ 1, 2 }, { decision = 1 });
local outer, i = sch:split(i, { t, u * 1 })
sch:reorder(j, outer)
sch:annotate(outer, 'it\'s', { a = '"' })
