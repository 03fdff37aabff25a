std = "min"
max_line_length = 120

files["spec"].std = "max+busted"
files["bench"].std = "max"
files["docs/config.ld"].std = "ldoc"
files["**/*.rockspec"].std = "rockspec"
files[".luacheckrc"].std = "luacheckrc"
