import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import TestSupport
import Testing

@testable import NetworkingResilience
@testable import NetworkingTraffic

/// Runs the vectors in `Tests/Vectors/rate-limit-fields.json`, which describes its format.
@Suite
struct ServerLimitVectorsTests {
    private struct Document: Decodable {
        let vectors: [Vector]
    }

    struct Vector: Decodable, Sendable, CustomTestStringConvertible {
        let name: String
        let jitter: Double?
        let steps: [Step]

        var testDescription: String { name }
    }

    struct Step: Decodable, Sendable {
        let at: Double
        let send: String?
        let follows: String?
        let user: String?
        let authority: String?
        let maximumWait: Double?
        let times: Int?
        let expect: String?
        let seconds: Double?
        let receive: String?
        let status: Int?
        let fields: [[String]]?
        let body: String?
    }

    private static let vectors: [Vector] = {
        let text = try? Repository.text(at: "Tests/Vectors/rate-limit-fields.json")
        return (try? JSONDecoder().decode(Document.self, from: Data((text ?? "").utf8)))?.vectors ?? []
    }()

    @Test func fileHasVectors() {
        #expect(Self.vectors.count >= 60)
        #expect(Set(Self.vectors.map(\.name)).count == Self.vectors.count)
    }

    @Test(arguments: vectors)
    func clientDecidesAsTheVectorSays(vector: Vector) async throws {
        let manual = ManualClock(start: Date(timeIntervalSince1970: 1_700_000_000))
        var environment = NetworkEnvironment()
        environment.clock = .manual(manual)
        environment.random = RandomSource { UInt64((vector.jitter ?? 0) * 0x1p53) << 11 }
        try await withEnvironment(environment) {
            var client = Client(clock: environment.clock)
            for (number, step) in vector.steps.enumerated() {
                manual.advance(by: .seconds(step.at) - (manual.now.offset))
                for _ in 0..<(step.times ?? 1) {
                    try client.run(step, "step \(number + 1) of \"\(vector.name)\"")
                }
            }
        }
    }

    private struct Client {
        let clock: NetworkClock
        private let limiter = ServerRateLimiter()
        private var sent: [String: (request: HTTPRequestData, key: LineKey, ticket: ServerLimitGate.Ticket)] = [:]

        init(clock: NetworkClock) {
            self.clock = clock
        }

        mutating func run(_ step: Step, _ label: String) throws {
            if let name = step.receive {
                let request = sent.removeValue(forKey: name)
                try receive(step, by: #require(request))
            } else {
                try send(step, label)
            }
        }

        private mutating func send(_ step: Step, _ label: String) throws {
            let new = HTTPRequestData(scheme: "https", authority: step.authority ?? "api.example", path: "/a")
            let request = step.follows.flatMap { redirected[$0] } ?? new
            let key = limiter.key(for: request, step.user.map { Principal(id: $0) })
            let limit = Duration.seconds(step.maximumWait ?? 3_600)
            switch limiter.lines.enter(request, key, waitingUpTo: limit, on: clock) {
            case .passed(let ticket):
                #expect(step.expect == "send", "\(label) was sent")
                if let name = step.send, !name.isEmpty {
                    sent[name] = (request, key, ticket)
                } else {
                    limiter.lines.end(ticket, key, with: nil, on: clock)
                }
            case .waits(let place, let time):
                #expect(step.expect == (time == nil ? "queue" : "wait"), "\(label) waits")
                try expect(time, step, label)
                limiter.lines.leave(place, key, on: clock)
            case .refused(let time):
                #expect(step.expect == "reject", "\(label) was rejected")
                try expect(time, step, label)
            }
        }

        private func expect(_ time: Duration?, _ step: Step, _ label: String) throws {
            guard let seconds = step.seconds else { return }
            let time = try #require(time, "\(label)")
            #expect(abs(time / .seconds(1) - seconds) < 1e-6, "\(label): \(time)")
        }

        private var redirected: [String: HTTPRequestData] = [:]

        private mutating func receive(
            _ step: Step,
            by sent: (request: HTTPRequestData, key: LineKey, ticket: ServerLimitGate.Ticket)
        ) throws {
            var fields = HTTPFields()
            for field in step.fields ?? [] {
                fields.append(HTTPField(name: try #require(HTTPField.Name(field[0])), value: field[1]))
            }
            let response = HTTPResponseData(
                request: sent.request,
                status: HTTPResponse.Status(code: step.status ?? 200),
                headerFields: fields,
                data: Data((step.body ?? "").utf8)
            )
            redirected[step.receive ?? ""] = sent.request
            limiter.lines.end(sent.ticket, sent.key, with: limiter.report(on: response), on: clock)
        }
    }
}
