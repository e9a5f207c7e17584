#if AsyncHTTPClient
/// The bytes of an upload that are passed on before the event loops are given time to process them.
///
/// A stride counts as sent at once, so a slow connection gets short ones; otherwise an idle limit might end it. On a
/// fast one, pauses for the event loops cost a large part of the rate.
struct UploadStride {
    static let shortest = 64 << 10
    private static let longest = 512 << 10
    /// The maximum time of a stride that is followed by a longer one.
    private static let shortTime = Duration.milliseconds(20)

    private var length = shortest
    private var bytes = 0
    private var start: ContinuousClock.Instant

    init(at start: ContinuousClock.Instant) {
        self.start = start
    }

    var isComplete: Bool {
        bytes >= length
    }

    mutating func add(_ count: Int) {
        bytes += count
    }

    /// Begins the next stride, which is twice as long after a short time and has the shortest length after a long one.
    mutating func begin(at now: ContinuousClock.Instant) {
        length = now - start < Self.shortTime ? min(2 * length, Self.longest) : Self.shortest
        (bytes, start) = (0, now)
    }
}
#endif
