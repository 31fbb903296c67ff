/** Maps items, a limited number at a time; the results are in the order of the items. */
export async function mapInLanes<Item, Result>(
  items: Iterable<Item>,
  lanes: number,
  act: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  const leftItems = Array.from(items).entries();
  const lane = async (): Promise<void> => {
    for (const [at, item] of leftItems) results[at] = await act(item);
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  return results;
}
