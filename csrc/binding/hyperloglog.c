/***
HyperLogLog: how many distinct keys.
@classmod hyperloglog
*/
#include "cardinality/hyperloglog.h"

#include "binding/keys.h"
#include "binding/methods.h"
