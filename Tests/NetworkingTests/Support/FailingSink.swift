import Foundation
import HTTPTypes
import Networking
import Synchronization

/// A sink that fails at a step, and counts what it hears of it.
final class FailingSink: ResponseSink {
    enum Step: Sendable {
        case offer
        case receive
        case finish
    }

    struct Failure: Error {}

    private let step: Step
    private let heard = Mutex<[any Error]>([])

    init(_ step: Step) {
        self.step = step
    }

    var failures: [any Error] {
        heard.withLock { $0 }
    }

    func offer(_ head: HTTPResponse) async throws -> SinkAnswer {
        if step == .offer { throw Failure() }
        return .take
    }

    func receive(_ chunk: Data) async throws {
        if step == .receive { throw Failure() }
    }

    func finish() async throws {
        if step == .finish { throw Failure() }
    }

    func fail(_ error: any Error) {
        heard.withLock { $0.append(error) }
    }
}
