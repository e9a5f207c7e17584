#if Crypto
import FoundationForNetworking
import HTTPTypes
import NetworkingCore
import Synchronization

/// The differences from the environment's clock, for hosts that refused a signature because their clock differs.
final class ClockOffsets: Sendable {
    /// The offsets in seconds, by authority.
    private let offsets = Mutex<[AuthorityKey?: TimeInterval]>([:])

    /// Services tolerate five minutes or more.
    private static let tolerance: TimeInterval = 240
    private static let maximumHosts = 64

    /// Returns the time at the host of a request, and records in the request which clock was used.
    func date(_ request: inout HTTPRequestData) -> Date {
        let offset = offsets.withLock { $0[request.authorityKey] } ?? 0
        request[.clockReading] = ClockReading(clocks: self, offset: offset)
        return NetworkEnvironment.current.clock.date.addingTimeInterval(offset)
    }

    /// Adopts the clock of a host, if it differs enough from the clock that signed a request.
    ///
    /// The age of the signature does not matter: a request may take some time.
    ///
    /// - Parameter response: The response that refused the signature.
    /// - Returns: `true` if the clock was adopted.
    func learn(from response: HTTPResponseData) -> Bool {
        let request = response.sentRequest
        let now = NetworkEnvironment.current.clock.date
        guard let reading = request[.clockReading], reading.clocks === self,
            let offset = response.headerFields[singleton: .date].flatMap({ Date(httpDate: $0, now: now) })?
                .timeIntervalSince(now),
            abs(offset - reading.offset) >= Self.tolerance
        else { return false }
        offsets.withLock { offsets in
            // A stack has few hosts; with more of them, the offsets are learned again.
            if offsets.count >= Self.maximumHosts {
                offsets.removeAll()
            }
            offsets[request.authorityKey] = offset
        }
        return true
    }
}

/// The clock that a request was signed with.
struct ClockReading: Sendable {
    let clocks: ClockOffsets
    /// The offset from the environment's clock.
    let offset: TimeInterval
}

extension RequestOptionKey {
    /// The clock that a request was signed with; `nil` if no ``AWSSigner`` has signed it.
    static let clockReading = RequestOption<ClockReading?>(
        "clockReading",
        default: nil,
        affects: .nothing,
        isReported: false
    )
}
#endif
