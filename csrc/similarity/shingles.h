/* Shingles (Broder 1997): the runs of n words, or n bytes, that a text has. They are its tokens,
 * and two texts are alike as far as they have the same ones. */
#ifndef PS_SIMILARITY_SHINGLES_H
#define PS_SIMILARITY_SHINGLES_H

#include "similarity/minhash.h"

/* The longest shingle, in words or bytes. */
#define PS_SHINGLE_MAX 1000

enum ps_shingle_unit { PS_SHINGLE_WORD, PS_SHINGLE_BYTE };

/* Adds the shingles of `length` bytes of text, each as the key of its bytes; returns how many there
 * are. Words are runs of bytes that are not ASCII white space, and in a shingle one space lies
 * between two. A text of fewer than n units, but some, is one shingle. Words are put together in
 * `scratch`, of `length` bytes; it may be the text itself, and is not touched for bytes. O(length +
 * shingles * (n + hashes)). */
uint64_t ps_minhash_add_shingles(struct ps_minhash *minhash, const unsigned char *text,
                                 size_t length, unsigned n, enum ps_shingle_unit unit,
                                 unsigned char *scratch);

#endif
