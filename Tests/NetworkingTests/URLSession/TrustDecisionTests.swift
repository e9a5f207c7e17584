#if URLSession
import Networking
import Testing

@testable import NetworkingTrust
@testable import NetworkingURLSession

/// The decision of URLSession's transport, which only Apple's platforms ask for.
@Suite struct TrustDecisionTests {
    /// The pins of the host, compared with the server's certificate.
    enum Pins: CaseIterable, Sendable {
        case absent, matching, matchingChain, other, onlyReported

        func host() throws -> HostTrust? {
            let leaf = try TrustSamples.certificate("trusted")
            let root = try TrustSamples.certificate("authority")
            let other = try TrustSamples.certificate("rotated")
            let pins: HostPins? =
                switch self {
                case .absent: nil
                case .matching: HostPins("localhost", certificates: [leaf])
                case .matchingChain: HostPins("localhost", certificates: [root], scope: .validatedChain)
                case .other: HostPins("localhost", certificates: [other])
                case .onlyReported: HostPins("localhost", certificates: [other], mode: .reportOnly)
                }
            return pins.map { HostTrust(host: "localhost", pins: $0, identityIndex: nil) }
        }
    }

    private static func chain() throws -> [Certificate] {
        [try TrustSamples.certificate("trusted"), try TrustSamples.certificate("authority")]
    }

    private static func mismatch() throws -> PinMismatch {
        PinMismatch(
            host: "localhost",
            presented: [try TrustSamples.certificate("trusted").publicKeyPin],
            expected: [try TrustSamples.certificate("rotated").publicKeyPin]
        )
    }

    @Test(arguments: Pins.allCases, [false, true])
    func trustedCertificateIsAcceptedUnlessItMissesEnforcedPins(pins: Pins, hasOwnRoots: Bool) throws {
        let decision = TrustDecision(.trusted(try Self.chain()), hasOwnRoots: hasOwnRoots, host: try pins.host())
        let reported = pins == .onlyReported ? try Self.mismatch() : nil
        let expected: TrustDecision =
            pins == .other
            ? .refuse(.refused(try Self.mismatch()))
            : hasOwnRoots ? .accept(reporting: reported) : .leaveToSystem(reporting: reported)
        #expect(decision == expected)
    }

    /// The system could accept the certificate in its own evaluation, where no pins are compared.
    @Test(arguments: Pins.allCases, [false, true])
    func untrustedCertificateIsLeftToTheSystemOnlyWithoutPins(pins: Pins, hasOwnRoots: Bool) throws {
        let decision = TrustDecision(.untrusted("expired"), hasOwnRoots: hasOwnRoots, host: try pins.host())
        let isLeft = pins == .absent && !hasOwnRoots
        #expect(decision == (isLeft ? .leaveToSystem() : .refuse(.untrusted("expired"))))
    }

    @Test func hostWithAnIdentityAloneNeedsNoPins() {
        let host = HostTrust(host: "localhost", pins: nil, identityIndex: 0)
        #expect(TrustDecision(.trusted([]), hasOwnRoots: false, host: host) == .leaveToSystem())
        #expect(TrustDecision(.untrusted("expired"), hasOwnRoots: false, host: host) == .leaveToSystem())
    }

    /// A chain that cannot be read has no certificate that a pin could match.
    @Test(arguments: [Pins.matching, .matchingChain, .other])
    func emptyChainMatchesNoPin(pins: Pins) throws {
        guard
            case .refuse(.refused(let mismatch)) = TrustDecision(.trusted([]), hasOwnRoots: true, host: try pins.host())
        else {
            Issue.record("An empty chain is accepted.")
            return
        }
        #expect(mismatch.presented.isEmpty)
    }

    @Test func failuresAreErrorsOfTLS() throws {
        let request = HTTPRequestData(scheme: "https", authority: "localhost", path: "/")
        let refused = TrustFailure.refused(try Self.mismatch()).error(of: request)
        #expect(refused.kind == .tls)
        #expect(refused.pinMismatch == (try Self.mismatch()))
        let untrusted = TrustFailure.untrusted("expired").error(of: request)
        #expect(untrusted.kind == .tls)
        #expect(untrusted.pinMismatch == nil)
        #expect(untrusted.reason.contains("expired"))
    }
}
#endif
