#if TestServer
/// Splits the bytes of a response into the parts of a throttle, across the boundaries of chunks.
struct Pace {
    private let throttle: TestResponse.Throttle
    /// The number of bytes sent of the current chunk.
    private var sent = 0

    init(_ throttle: TestResponse.Throttle) {
        self.throttle = throttle
    }

    /// Returns the parts of a chunk.
    ///
    /// Each starts with a pause, except the very first.
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
