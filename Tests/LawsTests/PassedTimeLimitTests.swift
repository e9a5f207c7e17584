import Networking
import NetworkingTesting
import TestSupport
import Testing

/// A `deadline` outside of each modifier of the package, over a transport that enforces time limits.
///
/// The waits of the modifiers themselves are tested in `ExchangeLimitTests` and `AuthenticatedLimitTests`.
@Suite(.timeLimit(.minutes(20)))
struct PassedTimeLimitTests {
    /// The modifiers that a `deadline` outside of them runs in a task of their own.
    ///
    /// [Timeouts](../../Documentation/Timeouts.md) names them for readers.
    private static let unlimited: [String] = {
        var names = [
            "cached(in:)", "cassette(_:)", "delayed(by:)", "faultInjected(by:)", "intercepted(by:)", "mocked(_:)",
            "mocked(all:)", "mocked(by:)", "mocked(where:)", "mocked(withUpstream:)", "modified(_:)", "recorded(_:)",
            "recorded(by:)", "whenOffline(_:)",
        ]
        #if Crypto
        names += ["signed(with:)", "verifiedSignatures(by:)"]
        #endif
        return names.sorted()
    }()

    /// The limits that the transport sees inside modifiers that share an exchange, and end only the wait for it.
    ///
    /// The `timeout` of a preset has limits for phases, which end at no moment that is known.
    private static let limitsOfShared = [
        "deduplicated(methods:)": "no limit", "hedged(_:), losers may finish": "no limit",
        "standard(_:)": "\(Duration.unlimited)",
    ]

    private static func isLimited(_ modifier: LawfulModifier) -> Bool {
        let stack = modifier.wrap(AnyNetworkingComponent(SilentTransport()))
        let components = sequence(first: stack as any NetworkingComponent) { $0.upstream as? any NetworkingComponent }
        return components.allSatisfy(\._endsAtLimit) && stack.modifiers.allSatisfy(\._endsAtLimit)
    }

    @Test func allButAFewModifiersPassTimeLimitsOn() {
        let names = Set(LawfulModifier.all.filter { !Self.isLimited($0) }.map(\.function))
        #expect(names.sorted() == Self.unlimited)
    }

    @Test(arguments: LawfulModifier.all.filter(isLimited))
    func callThroughTheModifierEndsAtItsLimit(modifier: LawfulModifier) async throws {
        let clock = ManualClock()
        let journal = Journal()
        let network = modifier.wrap(AnyNetworkingComponent(SilentTransport(journal))).deadline(.seconds(5))
            .environment(\.clock, .manual(clock))
        let call = Task { try await network.data(.lawful) }
        try await eventually("the transport has the request") { !journal.entries.isEmpty }
        let names = [modifier.testDescription, modifier.function]
        let limit = names.lazy.compactMap { Self.limitsOfShared[$0] }.first ?? "5.0 seconds"
        try #require(journal.entries == [limit])
        try await clock.waitForSleepers(2)
        clock.advance(by: .seconds(5))
        let error = await #expect(throws: NetworkingError.self) { try await call.value }
        #expect(error?.kind == .deadline)
        #expect(journal.entries == [limit])
    }
}
