import HTTPTypes
import Networking
import NetworkingTesting
import TestSupport
import Testing

@testable import NetworkingCore

@Suite
struct PassageTests {
    private final class Recorder: CallRecording {
        func enter(_ part: any Any.Type) -> Int32 { 0 }
        func leave(_ number: Int32) {}
        func record(_ event: any NetworkEvent) {}
        func branch() -> any CallRecording { self }
        func join(_ branch: any CallRecording) {}
    }

    private struct Trace: RequestTrace {
        let id: (any CustomStringConvertible & Sendable)? = 1
        func startNewTrace(_ request: inout HTTPRequestData) { request.mark(asTracedBy: Trace()) }
    }

    private static let mark = RequestOption("mark", default: 0, affects: .nothing, isSetByStack: true)

    /// A request to which a stack has added everything that it can.
    private static var laden: HTTPRequestData {
        var request = HTTPRequestData.lawful
        request.place = .underway
        for work in HandledWork.allCases {
            request.handle(work)
        }
        request.exchangeLimit = ExchangeLimit(until: .seconds(1), on: .immediate())
        request.heldLimits = HeldLimits()
        request.recorder = Recorder()
        request.addObserver(EventRecorder())
        request.mark(asTracedBy: Trace())
        request.openPassage.exchangeNumber = 7
        request.setCredential("secret", for: .cookie)
        request[mark] = 3
        return request
    }

    /// Returns the names of the fields that have a value.
    private func fields(of request: HTTPRequestData) throws -> Set<String> {
        let passage = try #require(request.passage).value
        var names: Set<String> = []
        if passage.handled != 0 { names.insert("handled") }
        if passage.limit != nil { names.insert("limit") }
        if passage.permits != nil { names.insert("permits") }
        if passage.recorder != nil { names.insert("recorder") }
        if !passage.observers.all.isEmpty { names.insert("observers") }
        if passage.trace != nil { names.insert("trace") }
        if passage.exchangeNumber != 0 { names.insert("exchangeNumber") }
        if passage.credentials != nil { names.insert("credentials") }
        if !passage.options.entries.isEmpty { names.insert("options") }
        return names
    }

    @Test func ladenRequestHasAValueInEachField() throws {
        let labels = Mirror(reflecting: Passage.none).children.compactMap(\.label)
        #expect(try fields(of: Self.laden) == Set(labels))
    }

    @Test func requestOutsideOfAStackHasNoPassage() {
        let request = Self.laden.outsideStack
        #expect(request.passage == nil)
        #expect(request.place == .outside)
        #expect(request[Self.mark] == 0)
        #expect(request.headerFields[.cookie] == "secret", "The message stays as it was sent.")
    }

    @Test func noCopyThatLeavesAStackHasAPassage() async throws {
        let mock = MockTransport { request in
            #expect(request.passage == nil)
            return .ok()
        }
        let laden = Self.laden
        let response = try await mock.send(laden)
        let error = NetworkingError(.connection, request: laden)
        let copies = [
            response.request, response.sentRequest, error.request, laden.forRecording, laden.compact, mock.requests[0],
        ]
        for copy in copies {
            #expect(copy.passage == nil)
            #expect(copy.place == .outside)
        }
    }

    @Test func sharedExchangeHasNoLimitAndNoRecorderOfItsFirstCaller() throws {
        let laden = Self.laden
        let shared = laden.shared(recordingInto: nil)
        #expect(try fields(of: laden).subtracting(fields(of: shared)) == ["limit", "recorder"])
        #expect(!shared.isSilenceLimited)
        #expect(HandledWork.allCases.filter(shared.isHandled) == [.redirects, .authorization, .cookies])
    }

    @Test func workInTheBackgroundHasNoListenersPermitsOrLimits() throws {
        let laden = Self.laden
        let background = laden.inBackground
        let removed = try fields(of: laden).subtracting(fields(of: background))
        #expect(removed == ["limit", "permits", "recorder", "observers"])
        #expect(!background.isSilenceLimited)
        #expect(HandledWork.allCases.filter(background.isHandled) == [.redirects, .authorization, .cookies])
    }

    @Test func requestBesideItsWayBeginsANewCall() async throws {
        let beside = Self.laden.besideStack
        let mock = MockTransport { _ in .ok() }
        _ = try await mock.data(beside)
        #expect(mock.requests[0].headerFields[.cookie] == nil)
    }
}
