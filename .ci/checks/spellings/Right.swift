// Spellings of the everyday calls, which are compiled and not run. None may be ambiguous or need a type annotation that
// is not in this file.

import Foundation
import HTTPTypes
import Networking

struct User: Codable, Sendable {
    var id: Int
    var name: String
}

struct Problem: Error, Codable {
    var message: String
}

extension Request where Response == Void {
    static func delete(user id: Int) -> Self { .delete("users/\(id)") }
    static func logOut() -> Request<Void> { .post("logout") }
}

extension Request where Response == User {
    static func user(id: Int) -> Self { .get("users/\(id)") }
    static func create(_ user: User) -> Self { .post("users", body: .json(user)) }
}

enum Order: String, QueryValue {
    case newest, oldest
}

func requests(text: String, id: Int, cursor: String?, tags: [String], date: Date, url: URL, user: User) throws {
    _ = HTTPRequestData()
    _ = HTTPRequestData(path: "users")
    _ = HTTPRequestData(path: "users/\(id)/\(text)")
    _ = HTTPRequestData(path: text)
    _ = HTTPRequestData(path: text + "/" + text)
    _ = HTTPRequestData(path: cursor)
    _ = HTTPRequestData(path: nil)
    _ = HTTPRequestData(path: cursor ?? "users")
    _ = HTTPRequestData(method: .post, authority: "a.example", path: "users", body: .json(user))
    _ = HTTPRequestData(method: .put, url: url, headerFields: [.accept: "text/html"])
    _ = HTTPRequestData(url: url)
    _ = HTTPRequestData(.get, "users")
    _ = HTTPRequestData(
        .post,
        "users/\(id)",
        query: ["page": 1, "tag": ["a", "b"], "q": text],
        headers: [.accept: "application/json", "X-Id": text],
        body: .json(user)
    )
    _ = HTTPRequestData.get("users", query: ["since": date, "cursor": cursor, "order": Order.newest, "all": true])
    _ = HTTPRequestData.get("users", query: ["tag": tags, "id": id, "half": 0.5, "url": url, "none": nil])
    _ = HTTPRequestData.get("users", query: RequestQuery(["tag": tags], format: QueryFormat(arrays: .brackets)))
    _ = HTTPRequestData.get("users", query: RequestQuery(["tag": text, "q": text]))
    _ = HTTPRequestData.get("users", query: RequestQuery(Dictionary(uniqueKeysWithValues: tags.map { ($0, text) })))
    _ = HTTPRequestData.get("users", query: RequestQuery([URLQueryItem(name: "q", value: text)]))
    _ = HTTPRequestData.get(
        "users",
        query: RequestQuery(["since": date], format: QueryFormat(dates: .iso8601WithFractions))
    )
    _ = HTTPRequestData.get("users", query: ["byte": UInt8(7), "dates": [date], "flags": [true], "ids": [1, nil, 3]])
    _ = HTTPRequestData.get("users", query: [:], headers: [:])
    _ = HTTPRequestData.get("users", headers: [.authorization(bearer: text), .acceptLanguage(["de", "en"])])
    _ = HTTPRequestData.get("users", headers: [.ifNoneMatch(text), .range(bytes: 0...1023), .cacheControl("no-cache")])
    _ = HTTPRequestData.get(
        "users",
        headers: [.accept([.json: 1, .xml: 0.5]), .authorization(basic: text, password: text)]
    )
    _ = HTTPRequestData.get("users", headers: HeaderFields(["X-Id": text]))
    _ = HTTPRequestData.get(RequestPath(text))
    _ = HTTPRequestData.get("\(raw: text)/\(id)")
    _ = HTTPRequestData.post("users", body: .json(["name": text]))
    _ = HTTPRequestData.post("users", body: .json(user, encoder: .json(keys: .convertToSnakeCase)))
    _ = HTTPRequestData.post("users", body: .json(["page": 1, "username": text, "cursor": cursor, "none": nil]))
    _ = HTTPRequestData.post(
        "users",
        body: .json(["user": user, "tags": tags, "since": date, "half": 0.5, "all": true])
    )
    _ = HTTPRequestData.post(
        "users",
        body: .json(["filter": ["role": "admin", "age": id] as JSONObject, "ids": [1, 2]])
    )
    _ = HTTPRequestData.post("users", body: .json(["a": ["b": 1], "c": ["d", "e"]]))
    _ = HTTPRequestData.post("users", body: .json([["id": id, "name": text] as JSONObject]))
    _ = HTTPRequestData.post("users", body: .json(["id": id, "name": text], encoder: .json(dates: .iso8601)))
    _ = HTTPRequestData.post("login", body: .form(["user": text, "password": text]))
    _ = HTTPRequestData.post(
        "login",
        body: .form(["user": text, "page": 1, "tags": tags, "cursor": cursor, "none": nil])
    )
    _ = HTTPRequestData.post("login", body: .form(["page": 1]))
    _ = HTTPRequestData.post("login", body: .form(Dictionary(uniqueKeysWithValues: tags.map { ($0, id) })))
    _ = HTTPRequestData.post("login", body: .form(["tag": tags, "id": id], format: QueryFormat(arrays: .brackets)))
    _ = HTTPRequestData.delete("users/\(id)").with(\.timeout, .seconds(5)).with(\.cacheMode, .reload)
    _ = Request<User>.get("users/\(id)")
    _ = Request<[User]>.get("users", query: ["page": id])
    _ = Request<User?>.get("draft").with(\.timeout, .seconds(5))
    _ = Request<Void>.delete("users/\(id)")
    _ = Request<Void>(.get("users/\(id)"))
    let deletion: Request<Void> = .delete("users/\(id)")
    _ = deletion.http
    _ = Request<String>.get("robots.txt")
    _ = Request<User>(HTTPRequestData.get("users/\(id)"))
    _ = Request<User>(.get("users/\(id)"))
    _ = Request<User>(.get("users/\(id)"), decoder: .json(keys: .convertFromSnakeCase))
    _ = Request(.get("users/\(id)"), as: User.self) { $0.name }
    _ = Request<String>(.get("users/\(id)")) { $0.text ?? "" }

    var request = HTTPRequestData.get("users")
    request.query["page"] = "2"
    request.query.greeting = text
    request.query.append(["page": 3])
    request.headerFields[.accept] = "text/html"
    request.headerFields["X-Id"] = text
    request.headerFields.set(.contentType(.json))
    request.headerFields.append(.userAgent("App/1.0"))
}

func stacks(text: String, url: URL) -> some NetworkingComponent {
    URLSession.shared
        .timeout(.seconds(10))
        .retry()
        .checkedStatusCode()
        .checkedStatusCode(as: Problem.self)
        .checkedStatusCode(as: Problem.self) { problem, _ in problem }
        .checkedStatusCode { $0.status == .notFound ? Problem(message: "missing") : nil }
        .decoder(.json(keys: .convertFromSnakeCase, dates: .iso8601WithFractions))
        .encoder(.json(keys: .convertToSnakeCase, dates: .iso8601))
        .decoder(PropertyListDecoder())
        .server(headerFields: [.accept: "application/json", "X-Client": text])
        .server(headerField: .accept, "application/json")
        .server(baseURL: url)
}

func calls(_ network: some NetworkingComponent, id: Int, user: User, file: URL) async throws {
    _ = try await network.data(.get("users"))
    _ = try await network.data(HTTPRequestData(path: "users"))
    _ = try await network.data(.get("users")) { progress in _ = progress.received.fractionCompleted }
    try await network.data(.get("users"))
    try await network.perform(.delete("users/\(id)"))
    try await network.perform(.post("users", body: .json(user)))
    _ = try await network.value(.user(id: id))
    let (first, response) = try await network.value(.user(id: id))
    _ = (first.name, response.status.isSuccess, response.text, response.prettyPrinted)
    let second = try await network.request(.user(id: id))
    _ = second.name
    let third: User = try await network.request(.get("users/\(id)"))
    _ = third.name
    let fourth = try await network.request(.get("users/\(id)"), as: User.self)
    _ = fourth.name
    let (fifth, _) = try await network.value(.get("users/\(id)"), as: User.self)
    _ = fifth.name
    _ = try await network.request(.create(user)).id
    _ = try await network.request(Request<[User]>.get("users")).count
    try await network.request(Request<Void>.delete("users/\(id)"))
    _ = try await network.request(.get("logo.png"), as: Data.self)
    _ = try await network.data(.get("users/\(id)")).checkedStatus().json(as: User.self)
    let sixth: User = try await network.data(.get("users/\(id)")).json()
    _ = sixth.name
    _ = try await network.request(.get("users"), as: [User].self, decoder: JSONDecoder())
    if case .failure(let error) = await network.result(of: .user(id: id)) { _ = error.localizedDescription }
    if case .success(let response) = await network.result(of: HTTPRequestData.get("users")) { _ = response.status }
    _ = try await network.upload(.file(file), to: .post("photos"))
    _ = try await network.upload(.file(file), to: .post("photos")) { _ = $0.sent.fractionCompleted }
    _ = try await network.upload(.file(file), to: Request<User>.post("photos"))
    _ = try await network.download(.get("film.mp4"), to: file)
    for try await line in try await network.lines(.get("log")) { _ = line }
}

struct GetUser: Endpoint {
    typealias Response = User
    let id: Int

    var path: RequestPath { "users/\(id)" }
    var options: [EndpointOption] {
        [.set(\.cacheMode, .reload), .set(\.retryPolicy, .never), .set(\.timeout, .seconds(5))]
    }
}

struct DeleteUser: Endpoint {
    typealias Response = Void
    let id: Int

    var method: HTTPRequest.Method { .delete }
    var path: RequestPath { "users/\(id)" }
}

enum GitHub: Endpoint {
    typealias Response = HTTPResponseData
    case user(String)
    case followers(String)

    var path: RequestPath {
        switch self {
        case .user(let name): "users/\(name)"
        case .followers(let name): "users/\(name)/followers"
        }
    }
}

func endpoints(_ network: some NetworkingComponent, url: URL) async throws {
    let service = APIService(network, baseURL: url) { $0.retry().decoder(.json(keys: .convertFromSnakeCase)) }
    _ = try await service.request(GetUser(id: 42)).name
    try await service.request(DeleteUser(id: 42))
    try await service.perform(GitHub.user("octocat"))
    let (user, response) = try await service.value(GetUser(id: 42))
    _ = (user.name, response.headerFields.dictionary, response.headerFields["X-Id"])
    let octocat = try await service.request(GitHub.user("octocat"), as: User.self)
    _ = octocat.name
    let untyped = try await service.request(GitHub.user("octocat"))
    _ = untyped.status
    if case .success(let user) = await service.result(of: GitHub.user("octocat").request(as: User.self)) {
        _ = user.name
    }
    if case .success(let user) = await service.result(of: Request<User>.get("users/42")) { _ = user.name }
    if case .failure(let error) = await service.result(of: GetUser(id: 42)) { _ = error.isCancelled }
    _ = try await service.data(GetUser(id: 42)).text
    _ = HTTPRequestData(GitHub.user("octocat"))
    let request = Request(GetUser(id: 42)).with(\.timeout, .seconds(5))
    _ = try await service.request(request).name
    try service.server.change(to: url)
}

func pages(_ network: some NetworkingComponent) async throws {
    for try await users in network.pages(Request<[User]>.get("users"), next: .link) { _ = users.count }
    for try await users in network.pages(GitHub.followers("octocat").request(as: [User].self), next: .link) {
        _ = users.count
    }
    for try await user in network.elements(Request<[User]>.get("users"), next: .link, of: \.self) { _ = user.name }
    let followers = network.elements(
        GitHub.followers("octocat").request(as: [User].self),
        next: .number { $0.isEmpty },
        of: \.self
    )
    for try await follower in followers { _ = follower.name }
    for try await response in network.storedThenFresh(.get("users")) { _ = response.isCached }
    for try await (user, response) in network.storedThenFresh(.user(id: 42)) { _ = (user.name, response.isCached) }
    for try await chunk in try await network.stream(.get("film.mp4")) { _ = chunk.count }
    for try await user in try await network.values(.get("users"), as: User.self) { _ = user.name }
    for try await event in try await network.events(.get("events")) { _ = event.data }
}

@MainActor
func callbacks(_ network: some NetworkingComponent, queue: DispatchQueue, file: URL) async throws {
    var name = ""
    let call = network.request(.user(id: 42), on: .main) { result in name = (try? result.get().name) ?? name }
    network.request(Request<User>.get("users/42"), on: .main) { result in name = (try? result.get().name) ?? name }
    network.callback(queue: queue) {
        try await $0.data(.get("users"))
    } completion: { result in
        _ = try? result.get().text
    }
    network.callback(queue: queue) {
        try await $0.perform(.delete("users/42"))
    } completion: { _ in
    }
    network.callback {
        try await $0.perform(.delete("users/42"))
    } completion: { _ in
        name = ""
    }
    network.callback {
        try await $0.request(.get("users/42"), as: User.self)
    } completion: { result in
        name = (try? result.get().name) ?? name
    }
    network.callback(on: .main) {
        try await $0.value(.user(id: 42))
    } completion: { result in
        name = (try? result.get().body.name) ?? name
    }
    network.callback(queue: queue) {
        try await $0.stream(.get("film.mp4"))
    } onElement: { chunk in
        _ = chunk.count
    } completion: { _ in
    }
    network.callback {
        try await $0.lines(.get("log"))
    } onElement: {
        name = $0
    } completion: { _ in
    }
    network.callback {
        try await $0.upload(.file(file), to: .post("photos"), progress: $1)
    } progress: { progress in
        name = "\(progress.sent.count)"
    } completion: { _ in
        name = ""
    }
    network.callback { network, progress in
        try await network.download(.get("film.mp4"), to: file, progress: progress)
    } progress: { progress in
        name = "\(progress.received.count)"
    } completion: { result in
        name = (try? result.get().url.path) ?? name
    }
    call.cancel()

    network.prepare(.get("users/42")).decode(as: User.self).onSuccess { name = $0.name }.onFailure { _ in }.start()
    let prepared = network.prepare(.user(id: 42))
    _ = try await prepared.value.name
    let transfer = network.transfer(.user(id: 42))
    for await progress in transfer.progress { _ = progress.received.fractionCompleted }
    _ = try await transfer.value.body.name
    let (data, response) = try await network.data(for: URLRequest(url: file))
    _ = (data.count, response.url, name)
}
