import Backend
import Foundation
import Networking

struct Article: Decodable, Sendable {
    let id: Int
    let title: String
}

/// Before: a class with completion handlers on the main actor.
///
/// It works with the same network as the async functions below, so an app can move its callers one by one.
@MainActor
final class ArticleLoader {
    private let network: any NetworkingComponent
    private var call: CallHandle?

    init(over network: any NetworkingComponent) {
        self.network = network
    }

    func loadArticles(completion: @escaping @MainActor (Result<[Article], any Error>) -> Void) {
        call = network.request(Request<[Article]>.get("articles"), on: .main, completion: completion)
    }

    /// Two calls, the second of which needs the result of the first.
    func bookmark(_ id: Int, completion: @escaping @MainActor (Result<Article, any Error>) -> Void) {
        call = network.request(Request<Article>.get("articles/\(id)"), on: .main) { [self] result in
            switch result {
            case .success(let article):
                let bookmark = Request<Void>.post("bookmarks", body: .json(["article": article.id]))
                call = network.request(bookmark, on: .main) { result in
                    completion(result.map { _ in article })
                }
            case .failure(let error):
                completion(.failure(error))
            }
        }
    }

    func loadArchive(completion: @escaping @MainActor (Result<String, any Error>) -> Void) {
        call = network.request(Request<String>.get("archive"), on: .main, completion: completion)
    }

    /// Cancels the running call, so that its completion receives `CancellationError`.
    func cancel() {
        call?.cancel()
    }
}

/// After: the same calls as async functions.
///
/// They need no handle, because cancelling the task cancels the call.
struct Articles: Sendable {
    private let network: any NetworkingComponent

    init(over network: any NetworkingComponent) {
        self.network = network
    }

    func all() async throws -> [Article] {
        try await network.request(.get("articles"), as: [Article].self)
    }

    func bookmark(_ id: Int) async throws -> Article {
        let article = try await network.request(.get("articles/\(id)"), as: Article.self)
        try await network.perform(.post("bookmarks", body: .json(["article": article.id])))
        return article
    }

    func archive() async throws -> String {
        try await network.request(.get("archive"), as: String.self)
    }
}

/// In between: an async function that waits for a completion handler, until the class is migrated, too.
@MainActor
func outcome<Value: Sendable>(
    of start: (@escaping @MainActor (Result<Value, any Error>) -> Void) -> Void
) async -> Result<Value, any Error> {
    await withCheckedContinuation { continuation in
        start { continuation.resume(returning: $0) }
    }
}

@main
enum Migration {
    static func main() async {
        let service = ArticleService()
        await withBackend(service) { server in
            let network = URLSession.shared.timeout(.seconds(60)).retry().server(baseURL: server.url)
            try await useCompletionHandlers(over: network, of: service)
            try await useAsyncFunctions(over: network, of: service)
            let bookmarks = server.requests(for: .post, path: "/bookmarks").map(\.text)
            expect(bookmarks == [#"{"article":1}"#, #"{"article":2}"#], "both forms send the same requests")
        }
    }

    @MainActor
    private static func useCompletionHandlers(
        over network: any NetworkingComponent,
        of service: ArticleService
    ) async throws {
        let loader = ArticleLoader(over: network)
        let articles = try await outcome { loader.loadArticles(completion: $0) }.get()
        let article = try await outcome { loader.bookmark(articles[0].id, completion: $0) }.get()
        print("Before: \(articles.count) articles, bookmarked \"\(article.title)\"")

        let archive: Result<String, any Error> = await outcome { completion in
            loader.loadArchive(completion: completion)
            Task {
                try await service.waitForArchiveRequest()
                loader.cancel()
            }
        }
        guard case .failure(let error) = archive else { return expect(false, "a cancelled call does not succeed") }
        print("Before: the archive was cancelled with \(type(of: error))")
        expect(error.isCancelled, "the completion handler receives the cancellation")
    }

    private static func useAsyncFunctions(
        over network: any NetworkingComponent,
        of service: ArticleService
    ) async throws {
        let articles = Articles(over: network)
        let all = try await articles.all()
        let article = try await articles.bookmark(all[1].id)
        print("After: \(all.count) articles, bookmarked \"\(article.title)\"")

        let archive = Task { try await articles.archive() }
        try await service.waitForArchiveRequest()
        archive.cancel()
        do {
            _ = try await archive.value
            expect(false, "a cancelled call does not succeed")
        } catch {
            print("After: the archive was cancelled with \(type(of: error))")
            expect(error.isCancelled, "the caller receives the cancellation")
        }
    }
}
