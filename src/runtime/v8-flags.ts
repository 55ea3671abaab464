import { setFlagsFromString } from 'node:v8'

/**
 * What V8's heap must know before anything else is loaded.
 *
 * Where many objects of one line of code live long for a while, V8 puts all further ones of that line straight among
 * the old. A burst of callbacks, each of which waits some 100 ms for its provider, teaches it so, and it does not
 * unlearn it: afterwards every message leaves 10 KB there, old and dead, which keep younger ones alive. Told not to,
 * the old part stops growing under load.
 */
setFlagsFromString('--no-allocation-site-pretenuring')
