/* The shared object that this code lies in. */
#ifndef PS_STORAGE_LIBRARY_H
#define PS_STORAGE_LIBRARY_H

/* Keeps the shared object that holds `address` in memory until the process ends, however often it
 * is unloaded: a host may then close it while its code still runs. Does nothing where it cannot. */
void ps_library_keep(const void *address);

#endif
