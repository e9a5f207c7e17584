#if TestServer
/// Pairs a request that has arrived with who answers it.
struct Exchange: Sendable {
    let id: Int
    let request: RecordedRequest
    let answer: Script.Answer
}
#endif
