// Which problems a model is at hand for.

const HOW = "The page looks for NAME.safetensors and NAME.toml of a problem in the folder models beside it.";

/// Those whose model has the problem's name. Any web server tells, by the models' cards, without sending them.
export async function withModels(problems) {
  const card = (name) => fetch(new URL(`models/${name}.toml`, import.meta.url), { method: "HEAD" });
  const answers = await Promise.all(problems.map(({ name }) => card(name)));
  const found = problems.filter((_, k) => answers[k].ok);
  if (!found.length) throw new Error(`No model is here of ${problems.map(({ name }) => name).join(", ")}. ${HOW}`);
  return found;
}
