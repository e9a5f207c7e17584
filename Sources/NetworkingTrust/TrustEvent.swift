public import NetworkingCore

/// An event of the pins of a ``ServerTrust``.
///
/// A mismatch is found when a connection is made, so a request over a kept connection reports none. AsyncHTTPClient
/// does not know for which request it makes a connection: a mismatch that is only reported goes to the listeners of the
/// first request to that host that ends afterwards.
@nonexhaustive
public enum TrustEvent: NetworkEvent {
    /// The server has none of the pinned keys, and the request fails.
    indirect case mismatchRefused(PinMismatch)
    /// The server has none of the pinned keys, and the request continues, because the pins are only reported.
    indirect case mismatchReported(PinMismatch)
    /// The pins of a host have expired, and the request continues without them.
    case pinsExpired(host: String)

    /// The record with the host: `pinMismatchRefused(api.example.com)`.
    public var record: EventRecord {
        switch self {
        case .mismatchRefused(let mismatch): EventRecord("pinMismatchRefused", "\(mismatch.host)")
        case .mismatchReported(let mismatch): EventRecord("pinMismatchReported", "\(mismatch.host)")
        case .pinsExpired(let host): EventRecord("pinsExpired", host)
        }
    }
}
