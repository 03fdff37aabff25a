#ifndef PS_BASE_VERSION_H
#define PS_BASE_VERSION_H

#define PS_VERSION "0.1.0-dev"

/* What the Lua files and the C module agree on. Goes up with every change between them, since a
 * host that reloads its Lua files keeps the C module it has. */
#define PS_ABI 1

#endif
