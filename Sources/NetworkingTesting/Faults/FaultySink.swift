import FoundationForNetworking
import HTTPTypes
import NetworkingCore
import Synchronization

/// A sink that applies the selected faults to a body before it forwards it.
final class FaultySink: ForwardingSink {
    let sink: any ResponseSink
    private let faults: BodyFaults
    private let request: HTTPRequestData
    private let state = Mutex(State())

    private struct State {
        var head: HTTPResponse?
        var masks: [Int: UInt8] = [:]
        var delivered = 0
    }

    init(_ sink: any ResponseSink, _ faults: BodyFaults, of request: HTTPRequestData) {
        self.sink = sink
        self.faults = faults
        self.request = request
    }

    /// The number of bytes forwarded.
    var delivered: Int {
        state.withLock { $0.delivered }
    }

    func offer(_ head: HTTPResponse) async throws -> SinkDecision {
        let length = head.headerFields[.contentLength].flatMap { Int($0) } ?? 1 << 10
        let masks = faults.corruption?.masks(in: min(length, 1 << 30)) ?? [:]
        state.withLock { $0 = State(head: head, masks: masks) }
        return try await sink.offer(head)
    }

    func receive(_ chunk: Data) async throws {
        var rest = chunk
        while !rest.isEmpty {
            let offset = delivered
            guard offset < faults.end.count else { return try await goNoFurther() }
            if let slices = faults.slices, offset > 0, offset.isMultiple(of: slices.size) {
                try await NetworkEnvironment.current.clock.sleep(for: slices.pause)
            }
            // Forward the bytes before the next fault. Positions count from the start of the body, not of the chunk.
            let slice = faults.slices.map { $0.size - offset % $0.size } ?? .max
            let part = rest.prefix(min(slice, faults.end.count - offset))
            rest = rest.dropFirst(part.count)
            try await sink.receive(part.corrupted(by: state.withLock { $0.masks }, at: offset))
            state.withLock { $0.delivered += part.count }
        }
    }

    private func goNoFurther() async throws {
        switch faults.end.manner {
        case .stall: try await Suspension<Void>().value(until: nil)
        // The transport continues reading, and the bytes are discarded.
        case .cut(nil): break
        case .cut(let kind?):
            let (head, delivered) = state.withLock { ($0.head, $0.delivered) }
            throw request.brokenOff(as: kind, head, after: delivered)
        }
    }
}

extension Data {
    /// Returns these bytes, which start at an offset in a body, with the masked bits flipped.
    func corrupted(by masks: [Int: UInt8], at offset: Int = 0) -> Data {
        guard !masks.isEmpty else { return self }
        // The indices of a slice do not start at zero.
        var bytes = Data(self)
        for index in bytes.indices {
            if let mask = masks[offset + index] {
                bytes[index] ^= mask
            }
        }
        return bytes
    }
}

extension HTTPRequestData {
    /// The error for a body that ends early.
    func brokenOff(as kind: NetworkingError.Kind, _ head: HTTPResponse?, after count: Int) -> NetworkingError {
        NetworkingError(
            kind,
            request: self,
            response: head.map { response(with: $0) },
            reason: "The test's FaultInjector ended the body after \(count) bytes."
        )
    }
}
