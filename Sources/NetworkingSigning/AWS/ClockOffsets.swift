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
    private static let mostHosts = 64

    /// What time it is for a host.
    func date(for authority: String?) -> Date {
        let offset = offsets.withLock { $0[Self.key(authority)] } ?? 0
        return NetworkEnvironment.current.clock.date.addingTimeInterval(offset)
    }

    /// Goes by the clock of the host from now on, if the date that a request was signed with is far from it.
    ///
    /// - Parameter response: The response with which it refused the signature.
    /// - Returns: Whether it does.
    func learn(from response: HTTPResponseData) -> Bool {
        let request = response.sentRequest
        let now = NetworkEnvironment.current.clock.date
        guard let signed = request.headerFields[.amzDate] ?? request.query[AWSSigner.QueryItem.date],
            let signingDate = try? Date.ISO8601FormatStyle.amz.parse(signed),
            let date = response.headerFields[.date].flatMap({ Date(httpDate: $0, now: now) }),
            abs(date.timeIntervalSince(signingDate)) >= Self.tolerance
        else { return false }
        offsets.withLock { offsets in
            // A stack has few hosts; whoever has more of them learns anew.
            if offsets.count >= Self.mostHosts {
                offsets.removeAll()
            }
            offsets[Self.key(request.authority)] = date.timeIntervalSince(now)
        }
        return true
    }

    private static func key(_ authority: String?) -> String {
        authority?.lowercased() ?? ""
    }
}
#endif
