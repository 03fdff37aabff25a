std = "min"
max_line_length = 120

files["lua/probsketch/jit.lua"].std = "luajit"
files["examples/nginx/lua"].std = "ngx_lua"
files["spec"].std = "max+busted"
files["bench"] = { std = "max", ignore = { "231", "241" } } -- results that only keep work from being left out
files["docs/config.ld"].std = "ldoc"
files["**/*.rockspec"].std = "rockspec"
files[".luacheckrc"].std = "luacheckrc"
