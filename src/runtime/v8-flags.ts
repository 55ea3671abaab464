import { setFlagsFromString } from 'node:v8'

/**
 * Sets a flag of V8's heap, before anything else is loaded.
 *
 * When many objects of one line of code live long for a while, V8 allocates all further objects of that line in the old
 * generation. A burst of callbacks, each of which waits some 100 ms for its provider, has that effect, and V8 does not
 * go back: from then on every message leaves 10 KB of dead objects there, which keep younger ones alive. With the flag
 * the old generation stops growing under load.
 */
setFlagsFromString('--no-allocation-site-pretenuring')
