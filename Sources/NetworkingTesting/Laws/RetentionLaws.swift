import FoundationForNetworking
import NetworkingCore

extension LawCheck {
    func releasesRequests() async throws {
        let stack = stack(around: Probe { HTTPResponseData(request: $0, data: Data("body".utf8)) })
        let (sink, handler) = try await sendAndForget(over: stack)
        try require(await eventually { sink.object == nil }, "The sink of a request is kept after the request is over.")
        try require(
            await eventually { handler.object == nil },
            "The progress handler of a request is kept after the request is over."
        )
        // The check is about the stack retaining the objects, so the stack must exist until here.
        withExtendedLifetime(stack) {}
        let upstream = try await sendAndForgetStack()
        try require(await eventually { upstream.object == nil }, "The upstream is kept after the stack is gone.")
    }

    private func sendAndForget(over stack: some NetworkingComponent) async throws -> (Weak, Weak) {
        let (sink, handler) = (CollectingSink(), Kept())
        var request = request.filling(sink)
        request.progressHandler = { _ in withExtendedLifetime(handler) {} }
        _ = try await LawCall(request, over: stack).finished()
        return (Weak(object: sink), Weak(object: handler))
    }

    private func sendAndForgetStack() async throws -> Weak {
        let upstream = Kept()
        let probe = Probe { request in withExtendedLifetime(upstream) { HTTPResponseData(request: request) } }
        _ = try await result(of: request, around: probe)
        return Weak(object: upstream)
    }
}

private final class Kept: Sendable {}

private struct Weak {
    weak var object: (any AnyObject & Sendable)?
}
