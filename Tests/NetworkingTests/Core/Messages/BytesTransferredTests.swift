import Networking
import TestSupport
import Testing

struct BytesTransferredTests {
    @Test func initialCountIsZero() {
        #expect(BytesTransferred().count == 0)
        #expect(BytesTransferred().expected == nil)
        #expect(TransferProgress().sent == BytesTransferred())
        #expect(TransferProgress().received == BytesTransferred())
    }

    @Test(
        arguments: [
            (0, nil, nil), (5, nil, nil), (0, 10, 0), (1, 10, 0.1), (10, 10, 1), (0, 0, 1), (20, 10, 1), (-5, 10, 0),
            (.max, .max, 1), (1, .max, 1 / Double(Int64.max)),
        ] as [(Int64, Int64?, Double?)]
    )
    func fractionIsTheShareOfTheExpectedBytes(count: Int64, expected: Int64?, fraction: Double?) {
        #expect(BytesTransferred(count: count, expected: expected).fractionCompleted == fraction)
    }

    @Test(
        arguments: [
            // No body to send: the response counts.
            ((0, 0), (0, nil), 0), ((0, 0), (25, 100), 0.25), ((0, 0), (100, 100), 1), ((0, 0), (9, nil), 0),
            ((0, nil), (25, 100), 0.25), ((0, 0), (0, 0), 1),
            // A body to send counts instead of the response.
            ((0, 10), (0, nil), 0), ((4, 10), (0, nil), 0.4), ((10, 10), (1, 100), 1),
            // A body of unknown length.
            ((5, nil), (0, nil), 0), ((5, nil), (50, 100), 0.5),
        ] as [((Int64, Int64?), (Int64, Int64?), Double)]
    )
    func fractionIsThatOfTheBodyThatMatters(sent: (Int64, Int64?), received: (Int64, Int64?), fraction: Double) {
        let progress = TransferProgress(
            sent: BytesSent(count: sent.0, expected: sent.1),
            received: BytesReceived(count: received.0, expected: received.1)
        )
        #expect(progress.fraction == fraction)
    }

    @Test(
        arguments: [
            ((1, 2), (3, 4), (4, 6)),
            ((1, nil), (3, 4), (4, nil)),
            ((1, 2), (3, nil), (4, nil)),
            ((0, 0), (3, 4), (3, 4)),
            // Servers can announce any length. The ancestor library never added lengths up.
            ((.max, .max), (1, 1), (.max, .max)),
            ((.max, .max), (.max, .max), (.max, .max)),
            ((.min, nil), (-1, nil), (.min, nil)),
        ] as [((Int64, Int64?), (Int64, Int64?), (Int64, Int64?))]
    )
    func countsAddUpWithoutOverflow(left: (Int64, Int64?), right: (Int64, Int64?), sum: (Int64, Int64?)) {
        let total =
            BytesTransferred(count: left.0, expected: left.1) + BytesTransferred(count: right.0, expected: right.1)
        #expect(total == BytesTransferred(count: sum.0, expected: sum.1))
    }
}
