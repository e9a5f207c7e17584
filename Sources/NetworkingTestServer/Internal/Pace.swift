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
    mutating func chunks(of source: TestResponse.Chunk) -> [TestResponse.Chunk] {
        guard !source.data.isEmpty else { return [source] }
        var parts: [TestResponse.Chunk] = []
        var rest = source.data[...]
        while !rest.isEmpty {
            var part = parts.isEmpty ? source : TestResponse.Chunk("")
            if sent == throttle.byteCount {
                sent = 0
                part.delay += throttle.period
            }
            part.data = rest.prefix(throttle.byteCount - sent)
            sent += part.data.count
            rest = rest.dropFirst(part.data.count)
            parts.append(part)
        }
        return parts
    }
}
#endif
