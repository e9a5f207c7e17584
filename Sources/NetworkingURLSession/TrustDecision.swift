#if URLSession
import NetworkingCore
import NetworkingTrust

/// The decision about the certificate of a server, from the results of the checks.
enum TrustDecision: Equatable {
    /// The certificate is accepted as it was evaluated, under the authorities of the trust.
    case accept(reporting: PinMismatch? = nil)
    /// The system evaluates the certificate again under its own authorities, and decides.
    case leaveToSystem(reporting: PinMismatch? = nil)
    /// The connection is closed.
    case refuse(TrustFailure)

    /// The result of the platform's validation of a certificate.
    enum Evaluation: Equatable {
        /// The chain that the platform has built, the server's certificate first.
        case trusted([Certificate])
        case untrusted(String)
    }

    /// Decides about a certificate.
    ///
    /// The system's second evaluation may succeed although the first one failed. After a failure, the system therefore
    /// decides only if the trust adds no authorities and the host has no pins.
    ///
    /// - Parameters:
    ///   - evaluation: The result of the validation.
    ///   - hasOwnRoots: Whether the trust has authorities in addition to the system's, or instead of them.
    ///   - host: The pins and the identity of the host; `nil` if it has neither.
    init(_ evaluation: Evaluation, hasOwnRoots: Bool, host: HostTrust?) {
        switch evaluation {
        case .untrusted(let detail):
            // Without pins, the system reports a more precise error.
            self = hasOwnRoots || host?.pins != nil ? .refuse(.untrusted(detail)) : .leaveToSystem()
        case .trusted(let chain):
            let mismatch = host?.mismatch(with: chain)
            if let mismatch, host?.pins?.mode != .reportOnly {
                self = .refuse(.refused(mismatch))
            } else {
                self = hasOwnRoots ? .accept(reporting: mismatch) : .leaveToSystem(reporting: mismatch)
            }
        }
    }
}

/// Why an exchange refuses the server's certificate.
enum TrustFailure: Sendable, Equatable {
    /// The server presents none of the pinned keys.
    case refused(PinMismatch)
    /// The platform does not trust the certificate under the roots of the trust.
    case untrusted(String)

    func error(of request: HTTPRequestData) -> NetworkingError {
        switch self {
        case .refused(let mismatch): NetworkingError(mismatch, request: request)
        case .untrusted(let detail): NetworkingError(.tls, request: request, reason: HTTPRequestData.unsecured(detail))
        }
    }
}
#endif
