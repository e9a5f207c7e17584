#if Crypto
import HTTPTypes
import Networking
import Synchronization

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// By how much the clocks of hosts are ahead of the environment's, where that has mattered.
final class ClockOffsets: Sendable {
    /// By authority, and in seconds.
    private let offsets = Mutex<[String: TimeInterval]>([:])

    /// Services allow five minutes or more.
    private static let tolerance: TimeInterval = 240
    private static let maximumHosts = 64

    /// What time it is for the host of a request, which remembers by what clock it was signed.
    func date(_ request: inout HTTPRequestData) -> Date {
        let offset = offsets.withLock { $0[Self.key(request.authority)] } ?? 0
        request[option: ClockReading.self] = ClockReading(clocks: self, offset: offset)
        return NetworkEnvironment.current.clock.date.addingTimeInterval(offset)
    }

    /// Goes by the clock of the host from now on, if it is far from the one that a request was signed by.
    ///
    /// How long ago that was does not count: a request may take its time.
    ///
    /// - Parameter response: The response with which it refused the signature.
    /// - Returns: Whether it does.
    func learn(from response: HTTPResponseData) -> Bool {
        let request = response.sentRequest
        let now = NetworkEnvironment.current.clock.date
        guard let reading = request[option: ClockReading.self], reading.clocks === self,
            let offset = response.headerFields[.date].flatMap({ Date(httpDate: $0, now: now) })?.timeIntervalSince(now),
            abs(offset - reading.offset) >= Self.tolerance
        else { return false }
        offsets.withLock { offsets in
            // A stack has few hosts; whoever has more of them learns anew.
            if offsets.count >= Self.maximumHosts {
                offsets.removeAll()
            }
            offsets[Self.key(request.authority)] = offset
        }
        return true
    }

    private static func key(_ authority: String?) -> String {
        authority?.lowercased() ?? ""
    }
}

/// By what clock a request was signed; nil for one that none of these signers has signed.
struct ClockReading: LibraryRequestOption {
    let clocks: ClockOffsets
    /// By how much it was ahead of the environment's.
    let offset: TimeInterval

    static var defaultValue: ClockReading? {
        nil
    }
}
#endif
