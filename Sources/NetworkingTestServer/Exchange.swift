#if TestServer
/// A request that has arrived, with the handler of its response.
struct Exchange: Sendable {
    let id: Int
    let request: RecordedRequest
    let handler: Script.Handler
}
#endif
