#if TestServer
/// Cuts what is sent into the portions of a throttle, across the pieces that it is made of.
struct Pace {
    private let throttle: TestResponse.Throttle
    /// How much of the current portion has gone.
    private var sent = 0

    init(_ throttle: TestResponse.Throttle) {
        self.throttle = throttle
    }

    /// Returns the portions of a piece; where a portion begins there is a pause, except before the very first.
    mutating func portions(of piece: TestResponse.Chunk) -> [TestResponse.Chunk] {
        guard !piece.data.isEmpty else { return [piece] }
        var portions: [TestResponse.Chunk] = []
        var rest = piece.data[...]
        while !rest.isEmpty {
            var portion = portions.isEmpty ? piece : TestResponse.Chunk("")
            if sent == throttle.byteCount {
                sent = 0
                portion.delay += throttle.period
            }
            portion.data = rest.prefix(throttle.byteCount - sent)
            sent += portion.data.count
            rest = rest.dropFirst(portion.data.count)
            portions.append(portion)
        }
        return portions
    }
}
#endif
