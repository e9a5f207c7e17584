import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Testing

/// The cache status of a response reports how the cache handled its request.
@Suite(.timeLimit(.minutes(20)))
struct CacheStatusTests {
    private let clock = ManualClock()

    /// Creates a stack over a server that returns these responses, each dated at the time of its request.
    private func stack(_ responses: MockResponse...) -> (network: AnyNetworkingComponent, transport: MockTransport) {
        let transport = MockTransport(responses)
        let network = transport.cached().environment(\.clock, .manual(clock)).environment(\.random, .seeded(1))
        return (AnyNetworkingComponent(network), transport)
    }

    private func page(_ text: String, _ fields: HTTPFields) -> MockResponse {
        .ok(Data(text.utf8), headerFields: fields)
    }

    @Test func missReportsItsReasonAndTheServersStatus() async throws {
        let (network, _) = stack(page("a", [.cacheControl: "max-age=60"]))
        let status = try #require(try await network.data(.lawful).cacheStatus)
        #expect(!status.isHit)
        #expect(status.forward == .uriMiss)
        #expect(status.forwardStatus == 200)
        #expect(status.isStored)
        #expect("\(status)" == "Networking; fwd=uri-miss; fwd-status=200; stored")
    }

    @Test func hitReportsItsRemainingFreshness() async throws {
        let (network, transport) = stack(page("a", [.cacheControl: "max-age=60"]))
        _ = try await network.data(.lawful)
        clock.advance(by: .seconds(18))
        let status = try #require(try await network.data(.lawful).cacheStatus)
        #expect(status.isHit)
        #expect(status.lifetimeLeft == 42)
        #expect(status.forward == nil)
        #expect(status.forwardStatus == nil)
        #expect(!status.isStored)
        #expect("\(status)" == "Networking; hit; ttl=42")
        #expect(transport.requests.count == 1)
    }

    @Test func anotherVariantIsAVaryMiss() async throws {
        let fields: HTTPFields = [.cacheControl: "max-age=60", .vary: "Accept"]
        let (network, _) = stack(page("a", fields), page("b", fields))
        _ = try await network.data(.lawful.with { $0.headerFields[.accept] = "text/html" })
        let other = try await network.data(.lawful.with { $0.headerFields[.accept] = "text/plain" })
        #expect(other.cacheStatus?.forward == .varyMiss)
        #expect(other.data == Data("b".utf8))
    }

    @Test func partialEntryDoesNotServeAWholeRequest() async throws {
        let part = MockResponse(
            status: .partialContent,
            data: Data("01".utf8),
            headerFields: [.cacheControl: "max-age=60", .eTag: "\"1\"", .contentRange: "bytes 0-1/4"]
        )
        let (network, _) = stack(part, page("0123", [.cacheControl: "max-age=60", .eTag: "\"1\""]))
        _ = try await network.data(.lawful.with { $0.headerFields[.range] = "bytes=0-1" })
        let whole = try await network.data(.lawful)
        #expect(whole.cacheStatus?.forward == .partial)
        #expect(whole.cacheStatus?.forwardStatus == 200)
        #expect(whole.data == Data("0123".utf8))
    }

    @Test func validatedResponseIsNoHit() async throws {
        let (network, _) = stack(
            page("a", [.cacheControl: "max-age=10", .eTag: "\"1\""]),
            .status(.notModified, headerFields: [.cacheControl: "max-age=10", .eTag: "\"1\""])
        )
        _ = try await network.data(.lawful)
        clock.advance(by: .seconds(11))
        let response = try await network.data(.lawful)
        let status = try #require(response.cacheStatus)
        #expect(response.isCached)
        #expect(!status.isHit)
        #expect(status.forward == .stale)
        #expect(status.forwardStatus == 304)
        #expect(status.lifetimeLeft == 10)
        #expect(status.isStored)
    }

    @Test func staleResponseReplacesAnError() async throws {
        let (network, _) = stack(
            page("a", [.cacheControl: "max-age=10, stale-if-error=100"]),
            .status(.serviceUnavailable)
        )
        _ = try await network.data(.lawful)
        clock.advance(by: .seconds(15))
        let events = EventRecorder()
        let response = try await network.data(.lawful.with { $0.addObserver(events) })
        let status = try #require(response.cacheStatus)
        #expect(response.data == Data("a".utf8))
        #expect(!status.isHit)
        #expect(status.forwardStatus == 503)
        #expect(status.lifetimeLeft == -5)
        #expect(status.detail == "stale-if-error")
        let hits = events.events.compactMap { event in
            if case CacheEvent.hit(let hit) = event { hit } else { nil }
        }
        #expect(hits == [.standIn])
    }

    @Test func writeOnlyStoresAndDoesNotRead() async throws {
        let (network, transport) = stack(
            page("a", [.cacheControl: "max-age=60"]),
            page("b", [.cacheControl: "max-age=60"])
        )
        _ = try await network.data(.lawful)
        let written = try await network.data(.lawful.with { $0.cacheMode = .writeOnly })
        #expect(written.data == Data("b".utf8))
        #expect(written.cacheStatus?.forward == .bypass)
        #expect(try await network.data(.lawful).data == Data("b".utf8))
        #expect(transport.requests.count == 2)
    }

    @Test func bypassIsReported() async throws {
        let transport = MockTransport { _ in .ok(headerFields: [.cacheControl: "max-age=60"]) }
        let instrument = SessionInstrument()
        let network = transport.cached().instrument(instrument)
        let passed = try await network.data(.lawful.with { $0.cacheMode = .noStore })
        #expect(passed.metrics?.cache == .cacheBypass(.request))
        #expect(passed.metrics?.cache?.cacheBypass == .request)
        #expect(passed.cacheStatus?.forward == .bypass)
        #expect(instrument.statistics.cacheBypasses == 1)
        _ = try await network.data(.lawful)
        #expect(instrument.statistics.cacheBypasses == 1)
        #expect(instrument.statistics.cacheMisses == 1)
    }
}
