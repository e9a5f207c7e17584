#if TestServer
/// Cuts what is sent into the chunks of a throttle, across the pieces that it is made of.
struct Pace {
    private let throttle: TestResponse.Throttle
    /// How much of the current chunk has gone.
    private var sent = 0

    init(_ throttle: TestResponse.Throttle) {
        self.throttle = throttle
    }

    /// Returns the chunks of a piece; where a chunk begins there is a pause, except before the very first.
    mutating func chunks(of piece: TestResponse.Chunk) -> [TestResponse.Chunk] {
        guard !piece.data.isEmpty else { return [piece] }
        var chunks: [TestResponse.Chunk] = []
        var rest = piece.data[...]
        while !rest.isEmpty {
            var chunk = chunks.isEmpty ? piece : TestResponse.Chunk("")
            if sent == throttle.byteCount {
                sent = 0
                chunk.delay += throttle.period
            }
            chunk.data = rest.prefix(throttle.byteCount - sent)
            sent += chunk.data.count
            rest = rest.dropFirst(chunk.data.count)
            chunks.append(chunk)
        }
        return chunks
    }
}
#endif
