#if TestServer
import FoundationForNetworking
import HTTPTypes

/// Serves the requests of one connection, one after the other.
struct Connection: Sendable {
    let socket: any ByteStream
    let number: Int
    let switchboard: Switchboard
    var httpVersion = "HTTP/1.1"
    /// The number of earlier requests on the same connection, counted over all of its HTTP/2 streams.
    var earlierRequests = 0

    /// Serves until the client disconnects, an exchange ends the connection, or the task is cancelled.
    func serve(_ effect: TestServer.ConnectionEffect = .serve) async {
        do {
            switch effect {
            case .serve: try await serve()
            case .close: break
            case .reset: socket.resetAtClose()
            case .halfClose: try await linger()
            case .stall: try await socket.drain()
            case .failHandshake: try await failHandshake()
            }
        } catch {
            // The client has disconnected or the server is stopping, so no response can be sent.
        }
        await socket.close()
    }

    private func serve() async throws {
        let parser = RequestParser(
            connection: number,
            bodyLimit: switchboard.bodyLimit,
            httpVersion: httpVersion,
            earlierRequests: earlierRequests
        )
        var inbox = Inbox(socket: socket, parser: parser)
        do {
            var isOpen = true
            while isOpen, let arrival = try await inbox.next() {
                switch arrival {
                case .head(let request):
                    switch switchboard.admit(atHead: request) {
                    case .admitted(let exchange): isOpen = try await respond(to: exchange, beforeBodyIn: &inbox)
                    case .claimed(let claim): isOpen = try await respond(with: claim, receivingBodyIn: &inbox)
                    case .undecided: continue
                    }
                case .complete(let request):
                    isOpen = await respond(to: switchboard.admit(request), readingAhead: &inbox)
                case .chunk, .allowanceSpent:
                    // These arrivals occur only during an exchange.
                    continue
                }
            }
        } catch let error as MalformedRequest {
            switchboard.withRecord { $0.addMiss("bytes on connection \(number) got 400: they are not a request") }
            try await send(EncodedResponse(.text(error.description, status: .badRequest), isLast: true).chunks)
        }
    }

    /// Responds to the client's first bytes, usually a TLS handshake, with the alert that the handshake failed.
    private func failHandshake() async throws {
        guard try await socket.read() != nil else { return }
        // An alert record with the level fatal and the description handshake_failure (RFC 8446, sections 5.1 and 6).
        try await socket.write(Data([21, 3, 3, 0, 2, 2, 40]))
        try await linger()
    }

    /// Closes this side and waits until the client has closed its own.
    ///
    /// Unread bytes of the client would turn a close into a reset.
    private func linger() async throws {
        socket.closeForWriting()
        try await socket.drain()
    }
}

extension Connection {
    /// Responds to one request while reading ahead, to notice a client that disconnects.
    ///
    /// - Returns: Whether the connection can take another request.
    private func respond(to exchange: Exchange, readingAhead inbox: inout Inbox) async -> Bool {
        let reader = inbox
        let steps = await withTaskGroup { group in
            group.addTask { Step.responded(isOpen: await send(responseTo: exchange)) }
            group.addTask { Step.readAhead(await reader.readAhead()) }
            var steps: [Step] = []
            // The step that ends first cancels the other: after a response there is nothing to watch, and a
            // disconnected client needs no response.
            for await step in group {
                group.cancelAll()
                steps.append(step)
            }
            return steps
        }
        switchboard.finish(exchange)
        var isOpen = false
        for step in steps {
            switch step {
            case .responded(let result): isOpen = result
            case .readAhead(let reader): inbox = reader
            }
        }
        return isOpen
    }

    /// Responds to one request before its body has arrived.
    ///
    /// The rest of the body is read after the response.
    ///
    /// - Returns: Whether the connection can take another request.
    private func respond(to exchange: Exchange, beforeBodyIn inbox: inout Inbox) async throws -> Bool {
        defer { switchboard.finish(exchange) }
        inbox.parser.streamBody()
        if let receive = exchange.handler.receive {
            return try await respond(to: exchange, with: receive, receivingBodyIn: &inbox)
        }
        let response = await switchboard.response(for: exchange)
        if let disconnect = response.disconnect, disconnect.stage.isWithinRequest {
            _ = try await inbox.receiveBody(for: response, clock: switchboard.clock)
            return try await breakOff(disconnect, exchange)
        }
        if response.body.isEcho { return try await echo(response, to: exchange, from: &inbox) }
        // A client that waits for `100 Continue` gets its final response now and can no longer be asked for the body.
        let isRefused = inbox.parser.takeExpectation()
        let encoded = EncodedResponse(response, to: exchange.request, isLast: isRefused)
        try await send(encoded.chunks) { switchboard.finish(exchange) }
        if isRefused, encoded.ending == .close {
            try await linger()
            return false
        }
        let isOpen = try await end(encoded.ending, of: exchange.request)
        if isOpen {
            _ = try await inbox.receiveBody(for: response, clock: switchboard.clock)
        }
        return isOpen
    }

    /// Responds to one request while a closure receives its body in chunks.
    ///
    /// - Returns: Whether the connection can take another request.
    private func respond(
        to exchange: Exchange,
        with receive: Route.Receiver,
        receivingBodyIn inbox: inout Inbox
    ) async throws -> Bool {
        var body = IncomingBody(inbox)
        let response = try await receive(exchange.request, &body)
        inbox = body.inbox ?? inbox
        if let disconnect = response.disconnect, disconnect.stage.isWithinRequest {
            return try await breakOff(disconnect, exchange)
        }
        // A client that waits for `100 Continue` gets its final response now and can no longer be asked for the body.
        let isRefused = !body.isComplete && inbox.parser.takeExpectation()
        let encoded = EncodedResponse(response, to: exchange.request, isLast: isRefused)
        try await send(encoded.chunks) { switchboard.finish(exchange) }
        if isRefused, encoded.ending == .close {
            try await linger()
            return false
        }
        let isOpen = try await end(encoded.ending, of: exchange.request)
        if isOpen, !body.isComplete {
            inbox.parser.bodyAllowance = nil
            _ = try await inbox.receiveBody(for: response, clock: switchboard.clock)
        }
        return isOpen
    }

    /// Sends the body back as it arrives.
    private func echo(_ response: TestResponse, to exchange: Exchange, from inbox: inout Inbox) async throws -> Bool {
        if inbox.parser.takeExpectation() { try await socket.write(TestResponse.Informational.continue.chunk.data) }
        var frame = response
        frame.body = .chunks([])
        frame.throttle = nil
        frame.bodyDelay = .zero
        let stage = response.disconnect?.stage
        let endsBeforeBody = stage == .responseStart || stage == .responseHead
        if !endsBeforeBody { frame.disconnect = nil }
        let encoded = EncodedResponse(frame, to: exchange.request)
        let headCount = frame.informational.count + 1
        guard !endsBeforeBody, encoded.chunks.count > headCount else {
            try await send(encoded.chunks) { switchboard.finish(exchange) }
            let isOpen = try await end(encoded.ending, of: exchange.request)
            if isOpen { _ = try await inbox.receiveBody(for: response, clock: switchboard.clock) }
            return isOpen
        }
        try await send(encoded.chunks.prefix(headCount))
        if response.bodyDelay > .zero { try await switchboard.clock.sleep(for: response.bodyDelay) }
        var pace = response.throttle.map { Pace($0) }
        var rest = Int.max
        if case .responseBody(after: let count) = stage { rest = count }
        inbox.parser.bodyAllowance = response.readingThrottle?.byteCount
        while rest > 0, let chunk = try await inbox.nextBodyChunk(for: response, clock: switchboard.clock) {
            let encodedChunk = TestResponse.Chunk(chunk.prefix(rest)).chunked
            rest -= min(rest, chunk.count)
            try await send(pace?.chunks(of: encodedChunk) ?? [encodedChunk])
        }
        if rest > 0 {
            try await send(encoded.chunks.dropFirst(headCount)) { switchboard.finish(exchange) }
        }
        guard let disconnect = response.disconnect else { return try await end(encoded.ending, of: exchange.request) }
        return try await breakOff(disconnect, exchange)
    }

    /// Receives the body of a request at the pace of its response, then responds.
    ///
    /// - Returns: Whether the connection can take another request.
    private func respond(with claim: Script.Claim, receivingBodyIn inbox: inout Inbox) async throws -> Bool {
        switch try await inbox.receiveBody(for: claim.response, clock: switchboard.clock) {
        case .complete(let request):
            return await respond(to: switchboard.admit(request, with: claim), readingAhead: &inbox)
        case .refused(let request):
            let exchange = switchboard.admit(request, with: claim)
            defer { switchboard.finish(exchange) }
            let response = EncodedResponse(claim.response, to: request, isLast: true)
            try await send(response.chunks) { switchboard.finish(exchange) }
            guard response.ending == .close else { return try await end(response.ending, of: request) }
            try await linger()
            return false
        case .cut(let request, let disconnect):
            let exchange = switchboard.admit(request, with: claim)
            defer { switchboard.finish(exchange) }
            guard let disconnect else { return false }
            return try await breakOff(disconnect, exchange)
        case .left:
            return false
        }
    }

    /// Disconnects within a request.
    private func breakOff(_ disconnect: TestResponse.Disconnect, _ exchange: Exchange) async throws -> Bool {
        try await disconnect.gate?.wait()
        switchboard.finish(exchange)
        return try await end(EncodedResponse.Ending(disconnect.effect), of: exchange.request)
    }
}

extension Connection {
    private func send(responseTo exchange: Exchange) async -> Bool {
        do {
            let response = EncodedResponse(await switchboard.response(for: exchange), to: exchange.request)
            try await send(response.chunks) { switchboard.finish(exchange) }
            return try await end(response.ending)
        } catch {
            return false
        }
    }

    /// Applies the ending of a response while the connection is read ahead, and returns whether it can take another
    /// request.
    private func end(_ ending: EncodedResponse.Ending) async throws -> Bool {
        switch ending {
        case .next: return true
        case .close: return false
        case .reset: socket.resetAtClose()
        case .stall: try await Gate().wait()
        case .halfClose:
            socket.closeForWriting()
            try await Gate().wait()
        }
        return false
    }

    /// Applies the ending of a response while the body of its request is not read.
    private func end(_ ending: EncodedResponse.Ending, of request: RecordedRequest) async throws -> Bool {
        switch ending {
        case .halfClose:
            try await linger()
            return false
        // A read notices a client that disconnects, but a stalled body is not read.
        case .stall where request.isComplete:
            try await socket.drain()
            return false
        case .next, .close, .reset, .stall:
            return try await end(ending)
        }
    }

    /// Sends the chunks in order.
    ///
    /// `willEnd` runs before the last one, because the client can act as soon as it has that chunk.
    private func send(_ chunks: some Collection<TestResponse.Chunk>, willEnd: () -> Void = {}) async throws {
        var rest = chunks.count
        for chunk in chunks {
            try await chunk.gate?.wait()
            try Task.checkCancellation()
            if chunk.delay > .zero { try await switchboard.clock.sleep(for: chunk.delay) }
            rest -= 1
            if rest == 0 { willEnd() }
            try await socket.write(chunk.data)
        }
    }
}

extension Connection {
    private enum Step: Sendable {
        case responded(isOpen: Bool)
        case readAhead(Inbox)
    }
}
#endif
