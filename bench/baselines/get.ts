import type { AddressInfo } from 'node:net'
import Fastify from 'fastify'
import { answerParent } from '../child.ts'

/** A bare Fastify HTTPS server whose one route answers a constant. */
const app = Fastify({ https: { key: process.env['TLS_KEY'] ?? '', cert: process.env['TLS_CERT'] ?? '' } })
app.get('/constant', async () => ({ err_code: 0, err_msg: '' }))
await app.listen({ host: '127.0.0.1', port: 0 })
answerParent(() => (app.server.address() as AddressInfo).port)
